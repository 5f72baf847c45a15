"""What integers at a network's ends are worth."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from npu_target.export.scales import Scales, scales_of

op = relax.op


def module(
    *, by: float | np.ndarray = 20.0, uses_twice: bool = False, ends: bool = True
) -> IRModule:
    """`main(x, y)`: x is quantized, doubled, and dequantized if it `ends` so; y stays a float."""
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType((6, 5), "float32")) for name in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            scaled = builder.emit(op.multiply(x, relax.const(np.asarray(by, "float32"))))
            rounded = builder.emit(op.clip(builder.emit(op.round(scaled)), -128, 127))
            value = builder.emit(op.astype(rounded, "int8"))
            result = op.astype(builder.emit(op.add(value, value)), "float32")
            if ends:
                result = op.multiply(builder.emit(result), relax.const(np.float32(0.25)))
            made = builder.emit_output(result)
            other = builder.emit_output(op.add(x if uses_twice else y, y))
        builder.emit_func_output(relax.Tuple([made, other]))
    return builder.get()


def test_both_ends():
    assert scales_of(module()) == Scales((20.0, None), (0.25, None))


def test_where_there_is_no_one_number():
    assert scales_of(module(by=np.arange(1, 6))).input_factors == (None, None)
    assert scales_of(module(uses_twice=True)).input_factors == (None, None)
    assert scales_of(module(ends=False)).output_factors == (None, None)
