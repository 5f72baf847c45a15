"""Networks that are all the host's, of one expression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax
from tvm.ir import IRModule

op = relax.op
Expr = relax.Expr


def quantized(x: Expr, scale: float, dtype: str = "int8") -> Expr:
    scaled = op.round(op.multiply(x, relax.const(np.float32(scale))))
    return op.astype(op.clip(scaled, -128, 127), dtype)


def dequantized(x: Expr, scale: float) -> Expr:
    return op.multiply(op.astype(x, "float32"), relax.const(np.float32(scale)))


def module(shapes: list[tuple[tuple[int, ...], str]], make: Callable[..., Expr]) -> IRModule:
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"x{index}", relax.TensorType(shape, dtype))
        for index, (shape, dtype) in enumerate(shapes)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            made = make(*params)
            if isinstance(made, tuple):
                made = relax.Tuple(list(made))
            result = builder.emit_output(made)
        builder.emit_func_output(result)
    return builder.get()
