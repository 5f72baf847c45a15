"""Named operations of integer networks as C: what they say themselves."""

import numpy as np
import pytest
from exported_networks import host_network, run_host_network
from integer_networks import network
from native_kernels import COMPILER

from npu_target.device import preset
from npu_target.integer import (
    Add,
    AveragePool,
    LinearAdd,
    Mean,
    Quantize,
    Requantize,
    Softmax,
)

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
SCALES = (0.013, 0.4, 0.0002, 1.7, 0.09)


def exported(operation, arrays, folder):
    """The result of a network of one operation, computed by the C of its export."""
    placed = host_network(network(operation, *arrays), preset("gemmini-16x16"))
    (found,) = run_host_network(placed, arrays, folder)
    return found


@pytest.mark.parametrize("rule", ["float32", "float32_zp", "tflite_single", "tflite_double"])
@pytest.mark.parametrize("scale", [(0.02,), SCALES], ids=["tensor", "channels"])
def test_requantize(rule, scale, tmp_path):
    operation = Requantize(rule, scale, 0 if rule == "float32" else -11, low=-100, high=99)
    sums = np.random.default_rng(0).integers(-9000, 9000, (4, 6, 5), "int32")
    sums[0, 0] = (-(2**31), 2**31 - 1, 0, -1, 1)
    wanted = operation.evaluate(sums)
    np.testing.assert_array_equal(exported(operation, [sums], tmp_path / "net"), wanted)


@pytest.mark.parametrize(
    "operation",
    [
        Add((0.021, 0.4), (3, -90), 0.31, -7),
        Add((0.4, 0.4), (-128, 0), 0.01, 5, subtract=True),
        LinearAdd((0.021, 0.4, 0.31), (3, -90, -7)),
        AveragePool((2, 3), (2, 1), (0, 1, 1, 0)),
        Mean((1, 2), 0.3, -4, 9),
        Softmax(0.06),
        Quantize(0.05, 3),
    ],
    ids=lambda operation: operation.op,
)
def test_the_others(operation, tmp_path):
    random = np.random.default_rng(1)
    count = 2 if isinstance(operation, (Add, LinearAdd)) else 1
    arrays = [random.integers(-128, 127, (1, 6, 7, 9), "int8", endpoint=True) for _ in range(count)]
    if isinstance(operation, Quantize):
        arrays = [random.normal(scale=3, size=(4, 9)).astype("float32")]
    elif isinstance(operation, Softmax):
        arrays = [arrays[0].reshape(-1, 9)]
    wanted = operation.evaluate(*arrays)
    np.testing.assert_array_equal(exported(operation, arrays, tmp_path / "net"), wanted)
