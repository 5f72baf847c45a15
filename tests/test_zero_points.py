"""A network as importers spell those with zero points and scales per channel: padded by values,
sums requantized on the host, all products on the device, exact."""

from __future__ import annotations

import numpy as np
import pytest
from command_lines import export
from exported_networks import HAS_MAKE, make
from partition.integer_functions import add_bias, constant, conv2d, image_sum, int8, requantize
from relax_functions import function_of
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op

from npu_target.build import compile_network
from npu_target.device import preset
from npu_target.host import build_host, run_host
from npu_target.models import registry
from npu_target.tuning.choose import Chooser
from npu_target.tuning.network import load_network

SHAPE = (1, 13, 11, 8)
NAME = "zero_points"


def per_channel(emit, sums, channels: int, largest: float = 0.004) -> relax.Expr:
    """Int8 by a scale a channel, and a zero point that is added after rounding."""
    scales = constant(np.linspace(largest / 4, largest, channels, dtype="float32"))
    scaled = emit(op.multiply(emit(op.astype(sums, "float32")), scales))
    moved = emit(op.add(emit(op.round(scaled)), relax.const(np.float32(-5))))
    return emit(op.astype(emit(op.clip(moved, -128, 127)), "int8"))


def padded(emit, x, value: int) -> relax.Expr:
    return emit(op.nn.pad(x, [0, 0, 1, 1, 1, 1, 0, 0], pad_value=value))


def body(emit, x) -> relax.Expr:
    x = conv2d(emit, padded(emit, x, -128), int8(3, 3, 8, 20), "first")
    x = requantize(emit, add_bias(emit, x, 20), 0.002)
    x = emit(op.nn.max_pool2d(x, (3, 3), (2, 2), 1, layout="NHWC"), "pool")
    x = conv2d(emit, padded(emit, x, 3), int8(3, 3, 1, 20), "depthwise", groups=20)
    x = per_channel(emit, add_bias(emit, x, 20), 20)
    x = conv2d(emit, padded(emit, x, -5), int8(3, 3, 20, 24), "second", strides=2)
    x = per_channel(emit, x, 24)
    total = image_sum(emit, x, keepdims=False)
    mean = per_channel(emit, total, 24, largest=0.2)
    return emit(op.matmul(mean, constant(int8(24, 10)), out_dtype="int32"), "logits")


class Model(registry.Model):
    """It is integer already: quantizing leaves it as it is."""

    def calibration_inputs(self, count: int, seed: int = 0) -> list[list[np.ndarray]]:
        generator = np.random.default_rng(seed)
        return [[generator.integers(-128, 128, SHAPE, np.int8)] for _ in range(count)]


@pytest.fixture(scope="module")
def module() -> IRModule:
    return function_of([SHAPE], body, "int8")


@pytest.fixture(autouse=True)
def known_by_name(module, monkeypatch):
    monkeypatch.setitem(registry.MODELS, NAME, lambda weights, seed: Model(NAME, module))


@pytest.mark.long
def test_every_product_is_the_devices_and_every_byte_right(module):
    config = preset("gemmini-16x16")
    network = load_network(NAME, config)
    operators = {r.name: r.operator for r in network.partitioned.regions}
    assert {name: getattr(o, "sums", None) for name, o in operators.items()} == {
        "first": False,
        "pool": None,
        "depthwise": True,
        "second": True,
        "sum": True,
        "logits": True,
    }
    values = [getattr(o, "pad_value", 0) for o in operators.values()]
    assert values == [-128, -128, 3, -5, 0, 0]
    chooser = Chooser(config, None)
    chooser.results(network.layers)
    on_device = compile_network(network.with_kernels(chooser.device_function).mod)
    on_host = build_host(module)
    for inputs in network.model.calibration_inputs(2, seed=3):
        (wanted,), (found,) = (run_host(each, *inputs) for each in (on_host, on_device))
        assert len(np.unique(wanted)) > 5
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_MAKE, reason="needs gcc, g++ and make")
def test_its_export_gives_the_same(tmp_path):
    folder = tmp_path / "net"
    assert export([f"--model={NAME}", "--logs=none", f"--output={folder}"]) == 0
    done = make(folder, "check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "output: 10 of 10 values equal" in done.stdout
