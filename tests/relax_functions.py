"""Small Relax functions for tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax
from tvm.ir import IRModule


def function_of(
    shapes: list[tuple[int, ...]],
    body: Callable[..., relax.Expr],
    dtype: str = "float32",
) -> IRModule:
    """A module whose `main` takes tensors x0, x1, ... of these shapes and returns
    `body(emit, x0, x1, ...)`, where `emit(expression, name="")` binds an expression."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorType(shape, dtype)) for i, shape in enumerate(shapes)]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(body(builder.emit, *params))
        builder.emit_func_output(result)
    return builder.get()


def constant(values: np.ndarray) -> relax.Expr:
    return relax.const(np.ascontiguousarray(values))
