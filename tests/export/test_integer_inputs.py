"""Inputs that are integers already."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.ir import IRModule

from npu_target.export.calls import Place, calls_of
from npu_target.export.errors import ExportError
from npu_target.export.integer_inputs import (
    quantized_inputs,
    quantizer_texts,
    with_integer_inputs,
)

op = relax.op


def module(quantizes: bool, uses_twice: bool) -> IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((6, 5), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            if quantizes:
                scaled = op.round(op.multiply(x, relax.const(np.float32(20))))
                value = builder.emit(op.astype(op.clip(scaled, -128, 127), "int8"))
            # A product is not fused with what makes its operands.
            ones = relax.const(np.ones((5, 4), "int8" if quantizes else "float32"))
            sums = builder.emit(op.matmul(value, ones, out_dtype="int32" if quantizes else None))
            if uses_twice:
                most = op.max(x, axis=1, keepdims=True)
                sums = builder.emit(op.add(op.astype(sums, "float32"), most))
            result = builder.emit_output(sums)
        builder.emit_func_output(result)
    return builder.get()


def test_the_quantizing_call_is_gone_and_computed_outside() -> None:
    calls = calls_of(module(True, False))
    assert len(calls.calls) == 2 and str(calls.inputs[0].dtype) == "float32"
    given = with_integer_inputs(calls)
    (call,) = given.calls
    assert call.arguments[0].place is Place.INPUT
    assert (given.inputs[0].name, given.inputs[0].dtype) == ("x", "int8")
    assert given.inputs[0].shape == (6, 5) and len(given.functions) == 1
    x = np.random.default_rng(0).normal(size=(6, 5)).astype("float32") * 5
    (made,) = quantized_inputs(calls, [x])
    (text,) = quantizer_texts(calls)
    assert "round_float32(in0[" in text and "* 20.0f" in text
    np.testing.assert_array_equal(made, np.clip(np.rint(x * 20), -128, 127).astype("int8"))


@pytest.mark.parametrize(("quantizes", "uses_twice"), [(False, False), (True, True)])
def test_what_is_not_quantized_alone_stays(quantizes: bool, uses_twice: bool) -> None:
    calls = calls_of(module(quantizes, uses_twice))
    with pytest.raises(ExportError, match="input x cannot be integers"):
        with_integer_inputs(calls)
