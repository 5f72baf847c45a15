"""What of a quantized network is not the device's, as C: tables, joins, products, moves."""

import numpy as np
import pytest
from exported_networks import host_network, run_host_network
from native_kernels import COMPILER
from relax_functions import constant, function_of
from tvm.relax import op

from npu_target.device import preset
from npu_target.host import build_host, run_host
from npu_target.quantize import quantize

LAYOUT = {"data_layout": "NHWC", "kernel_layout": "HWIO"}


@pytest.mark.long
@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
@pytest.mark.parametrize("size", [(16, 21), (4, 5)])  # half as large: between two pixels
def test_c_says_what_the_build_says(tmp_path, size):
    random = np.random.default_rng(0)

    def conv(emit, x, outputs):
        kernel = random.normal(size=(1, 1, int(x.ty.shape[3]), outputs)).astype("float32")
        return emit(op.nn.conv2d(x, constant(kernel), **LAYOUT))

    def body(emit, x):
        y = conv(emit, x, 6)
        y = emit(op.concat([emit(op.nn.gelu(y)), emit(op.nn.relu(y))], axis=3))
        first, second = (emit(part) for part in _two(emit(op.split(y, 2, axis=3))))
        y = emit(op.multiply(first, second))
        y = emit(op.nn.pad(y, [0, 0, 1, 1, 1, 1, 0, 0], pad_value=0.5))
        y = emit(op.image.resize2d(y, size, layout="NHWC", method="nearest_neighbor"))
        return conv(emit, y, 3)

    inputs = [random.normal(size=(1, 6, 8, 5)).astype("float32")]
    integer = quantize(function_of([(1, 6, 8, 5)], body), [inputs]).mod
    (wanted,) = run_host(build_host(integer), *inputs)
    network = host_network(integer, preset("gemmini-16x16"))
    (found,) = run_host_network(network, inputs, tmp_path / "net")
    np.testing.assert_array_equal(found, wanted)


def _two(parts):
    return parts[0], parts[1]
