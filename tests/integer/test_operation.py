"""Named operations among TVM's own operators."""

import numpy as np
from tvm import relax

from npu_target.host import build_host, run_host
from npu_target.integer import Requantize, emit


def test_an_operation_is_fused_with_what_is_around_it():
    operation = Requantize("tflite_double", (0.25,), 3)
    bias = np.arange(5, dtype="int32")
    builder = relax.BlockBuilder()
    value = relax.Var("value", relax.TensorType((4, 5), "int32"))
    with builder.function("main", [value]):
        with builder.dataflow():
            biased = builder.emit(relax.op.add(value, relax.const(bias)), "biased")
            small = emit(builder, operation, [biased], "layer")
            above = relax.op.maximum(small, relax.const(np.int8(3)))
            result = builder.emit_output(above)
        builder.emit_func_output(result)
    sums = np.random.default_rng(0).integers(-900, 900, (4, 5), dtype="int32")
    (found,) = run_host(build_host(builder.get()), sums)
    np.testing.assert_array_equal(found, np.maximum(operation.evaluate(sums + bias), 3))
