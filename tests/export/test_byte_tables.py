"""Functions of one byte, looked up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from exported_networks import host_network, run_host_network
from host_modules import Expr, dequantized, module, op, quantized
from native_kernels import COMPILER
from tvm import relax

from npu_target.device import preset

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

CONFIG = preset("gemmini-16x16")
MADE: dict[str, Callable[[Expr], Expr]] = {
    "gelu": lambda x: quantized(op.nn.gelu(dequantized(x, 0.03)), 17.7),
    "gelu, a float": lambda x: op.nn.gelu(dequantized(x, 0.03)),
    "sigmoid": lambda x: quantized(op.sigmoid(dequantized(x, 0.05)), 255, "uint8"),
    "tanh of exp": lambda x: op.tanh(op.exp(dequantized(x, 0.01))),
}


def is_table(text: str) -> bool:
    return "value < 256" in text


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", MADE)
def test_every_byte_has_its_value(name: str, dtype: str, tmp_path: Path) -> None:
    """To the last bit what the same C without a table computes."""
    every = np.arange(256).astype(dtype)
    one_by_one = host_network(module([((256,), dtype)], MADE[name]), CONFIG)
    (wanted,) = run_host_network(one_by_one, [every], tmp_path / "one")
    assert not is_table((tmp_path / "one/host.c").read_text())
    x = np.random.default_rng(0).integers(0, 256, (9, 70)).astype(dtype)
    looked_up = host_network(module([((9, 70), dtype)], MADE[name]), CONFIG)
    (found,) = run_host_network(looked_up, [x], tmp_path / "table")
    assert is_table((tmp_path / "table/host.c").read_text())
    np.testing.assert_array_equal(found, wanted[x.astype("uint8")])


def test_a_transposed_byte(tmp_path: Path) -> None:
    def make(x: Expr) -> Expr:
        return op.permute_dims(op.exp(dequantized(x, 0.02)), [1, 0])

    network = host_network(module([((40, 30), "int8")], make), CONFIG)
    x = np.random.default_rng(0).integers(-128, 128, (40, 30)).astype("int8")
    (found,) = run_host_network(network, [x], tmp_path / "net")
    assert is_table((tmp_path / "net/host.c").read_text())
    np.testing.assert_allclose(found, np.exp(x.T * np.float32(0.02)), rtol=1e-6)


NOT: dict[str, tuple[list[str], Callable[..., Expr]]] = {
    "of two bytes": (["int8", "int8"], lambda x, y: op.exp(dequantized(op.add(x, y), 0.01))),
    "of a place": (
        ["int8"],
        lambda x: op.multiply(
            op.exp(dequantized(x, 0.01)), relax.const(np.arange(90, dtype="float32"))
        ),
    ),
    "of a float": (["float32"], lambda x: op.exp(x)),
    "without a call": (["int8"], lambda x: dequantized(x, 0.01)),
}


@pytest.mark.parametrize("name", NOT)
def test_what_is_no_function_of_one_byte(name: str) -> None:
    dtypes, make = NOT[name]
    network = host_network(module([((20, 90), dtype) for dtype in dtypes], make), CONFIG)
    assert not any(is_table(function.text) for function in network.functions.values())
