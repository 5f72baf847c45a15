"""Host functions as C: what TVM's own build for this machine computes, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from exported_networks import host_network, run_host_network
from host_modules import dequantized, module, quantized
from hypothesis import given, settings
from hypothesis import strategies as st
from native_kernels import COMPILER
from tvm import relax

from npu_target.device import preset
from npu_target.export.errors import ExportError
from npu_target.host import build_host, run_host

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

CONFIG = preset("gemmini-16x16")
op = relax.op
Expr = relax.Expr


def weights(*shape: int) -> Expr:
    return relax.const(np.random.default_rng(1).normal(size=shape).astype("float32"))


# Exact: nothing of the C library that rounds.
EXACT: dict[str, tuple[list[tuple[tuple[int, ...], str]], Callable[..., Expr]]] = {
    "quantize": ([((2, 7, 5), "float32")], lambda x: quantized(x, 48.1060562)),
    "dequantize": ([((3, 11), "int8")], lambda x: dequantized(x, 0.01953419)),
    "transpose": ([((4, 6, 5), "int8")], lambda x: op.permute_dims(x, [2, 0, 1])),
    "reshape and transpose": (
        [((6, 20), "float32")],
        lambda x: op.permute_dims(op.reshape(x, (6, 4, 5)), [1, 0, 2]),
    ),
    "layer norm": (
        [((5, 24), "float32")],
        lambda x: op.nn.layer_norm(x, weights(24), weights(24), -1, 1e-12),
    ),
    "layer norm, quantized": (
        [((5, 24), "float32")],
        lambda x: quantized(op.nn.layer_norm(x, weights(24), weights(24), -1), 17.94),
    ),
    "pad": ([((1, 4, 4, 3), "int8")], lambda x: op.nn.pad(x, [0, 0, 1, 2, 1, 2, 0, 0])),
    "mean": ([((1, 6, 6, 3), "float32")], lambda x: op.mean(x, [1, 2])),
    "product": (
        [((5, 7), "float32"), ((7, 9), "float32")],
        lambda x, y: op.matmul(x, y),
    ),
    "product of integers": (
        [((5, 7), "int8"), ((7, 9), "int8")],
        lambda x, y: op.matmul(x, y, out_dtype="int32"),
    ),
    "convolution": (
        [((1, 6, 6, 3), "float32"), ((3, 3, 3, 4), "float32")],
        lambda x, y: op.nn.conv2d(x, y, padding=1, data_layout="NHWC", kernel_layout="HWIO"),
    ),
    "max pool": (
        [((1, 8, 8, 3), "float32")],
        lambda x: op.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1), layout="NHWC"),
    ),
    "average pool": (
        [((1, 8, 8, 16), "float32")],
        lambda x: op.nn.avg_pool2d(x, (2, 2), (2, 2), layout="NHWC"),
    ),
    "sum and relu": (
        [((3, 9), "float32"), ((9,), "float32")],
        lambda x, y: op.nn.relu(op.add(x, y)),
    ),
    "a choice": (
        [((3, 9), "float32"), ((3, 9), "float32")],
        lambda x, y: op.where(op.less(x, y), op.sqrt(op.abs(x)), op.divide(y, x)),
    ),
    "integers": (
        [((40,), "int32"), ((40,), "int32")],
        lambda x, y: op.add(
            op.floor_divide(x, op.maximum(op.abs(y), relax.const(3))),
            op.floor_mod(op.minimum(x, y), relax.const(-7)),
        ),
    ),
}
# Through functions that C libraries and TVM's vectors round a little differently.
NEARLY: dict[str, tuple[list[tuple[tuple[int, ...], str]], Callable[..., Expr]]] = {
    "softmax": ([((3, 4, 20), "float32")], lambda x: op.nn.softmax(x)),
    "gelu": ([((3, 20), "float32")], lambda x: op.nn.gelu(x)),
    "sigmoid and tanh": ([((50,), "float32")], lambda x: op.tanh(op.sigmoid(x))),
    "logarithm": ([((50,), "float32")], lambda x: op.log(op.exp(x))),
}


def drawn(shapes: list[tuple[tuple[int, ...], str]], seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [
        random.normal(size=shape).astype("float32")
        if dtype == "float32"
        else random.integers(-100, 100, shape).astype(dtype)
        for shape, dtype in shapes
    ]


def both(
    shapes: list[tuple[tuple[int, ...], str]],
    make: Callable[..., Expr],
    folder: Path,
    seed: int = 0,
) -> list[tuple[np.ndarray, np.ndarray]]:
    mod, inputs = module(shapes, make), drawn(shapes, seed)
    found = run_host_network(host_network(mod, CONFIG), inputs, folder)
    return list(zip(found, run_host(build_host(mod), *inputs), strict=True))


@pytest.mark.parametrize("name", EXACT)
def test_exact(name: str, tmp_path: Path) -> None:
    for found, wanted in both(*EXACT[name], tmp_path):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", NEARLY)
def test_nearly(name: str, tmp_path: Path) -> None:
    for found, wanted in both(*NEARLY[name], tmp_path):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["softmax", "gelu"])
def test_integers_after_them_are_equal(name: str, tmp_path: Path) -> None:
    shapes, make = NEARLY[name]
    for found, wanted in both(shapes, lambda x: quantized(make(x), 113.7), tmp_path):
        np.testing.assert_array_equal(found, wanted)


@given(st.data())
@settings(max_examples=8, deadline=None)
def test_chains(data: st.DataObject) -> None:
    """Several functions after each other, one value used twice."""
    import tempfile

    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    scale = data.draw(st.floats(0.25, 60, width=32))

    def make(x: Expr) -> Expr:
        turned = quantized(op.permute_dims(x, [1, 0]), scale)
        sums = op.sum(op.astype(turned, "int32"), axis=1, keepdims=True)
        return op.add(
            op.astype(turned, "float32"), op.multiply(op.astype(sums, "float32"), x_part(x))
        )

    def x_part(x: Expr) -> Expr:
        return op.reshape(op.max(x, axis=0), (columns, 1))

    with tempfile.TemporaryDirectory() as folder:
        for found, wanted in both([((rows, columns), "float32")], make, Path(folder) / "net"):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_is_half_to_even_to_the_last_bit(dtype: str, tmp_path: Path) -> None:
    """No call of the C library, and no number for which that shows."""
    whole = 2.0 ** np.arange(-30, 70)
    near = np.concatenate([whole, whole + 0.5, whole - 0.5, whole + 1, [0.5, 1.5, 2.5, np.inf]])
    near = near.astype(dtype)
    values = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf), [0]])
    drawn = np.random.default_rng(0).normal(0, 1000, 1000).astype(dtype)
    x = np.concatenate([values, -values, drawn]).astype(dtype)
    network = host_network(module([(x.shape, dtype)], op.round), CONFIG)
    (found,) = run_host_network(network, [x], tmp_path / "net")
    assert "nearbyint(" not in (tmp_path / "net/host.c").read_text()
    bits = "int32" if dtype == "float32" else "int64"
    np.testing.assert_array_equal(found.view(bits), np.rint(x).view(bits))


def test_outputs_that_are_inputs_or_the_same(tmp_path: Path) -> None:
    def make(x: Expr, y: Expr) -> tuple[Expr, ...]:
        doubled = op.add(x, x)
        return doubled, y, doubled

    pairs = both([((5,), "float32"), ((3, 2), "int8")], make, tmp_path)
    assert len(pairs) == 3
    for found, wanted in pairs:
        np.testing.assert_array_equal(found, wanted)


def test_equal_functions_are_one(tmp_path: Path) -> None:
    def make(x: Expr) -> tuple[Expr, ...]:
        return tuple(quantized(x, scale) for scale in (3.0, 5.0, 3.0, 7.0))

    network = host_network(module([((4, 4), "float32")], make), CONFIG)
    (function,) = {function.name: function for function in network.functions.values()}.values()
    assert len(function.varying) == 1 and "float number0" in function.parameters


def test_what_has_no_c_is_said() -> None:
    shapes = [((4,), "float16")]
    with pytest.raises(ExportError, match="float16 has no type in C"):
        host_network(module(shapes, lambda x: op.add(x, x)), CONFIG)
    with pytest.raises(ExportError, match=r"host would have to compute .*atan"):
        host_network(module([((4,), "float32")], lambda x: op.atan(x)), CONFIG)
