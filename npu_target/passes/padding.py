"""Padding, out of sight of TVM's passes.

A definition reads its padding as `if_then_else(inside, x[...], 0)`.  For each access in there, the
passes that shrink buffers and simplify indices solve the condition anew, which takes as long as
all else that they do.  No buffer that they shrink is read there, and indices simplify without it.
"""

from __future__ import annotations

import tvm_ffi
from tvm import ir, tirx
from tvm.ir import TensorLoad

_CHOICE = "prim.if_then_else"
_EXTERN = "tirx.call_pure_extern"
_NAME = "npu.padded"


def hide_padding(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """A function whose choices between an element of an argument and something else are calls that
    TVM knows nothing of."""
    arguments = set(func.params)

    def hidden(call: ir.Call) -> tirx.Expr:
        if getattr(call.op, "name", None) != _CHOICE:
            return call
        value = call.args[1]
        if not isinstance(value, TensorLoad) or value.source not in arguments:
            return call
        return tirx.call_pure_extern(str(value.source.dtype), _NAME, *call.args)

    return tvm_ffi.structural_map(func, ((ir.Call, hidden),))


def show_padding(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """A function with its hidden choices back."""

    def shown(call: ir.Call) -> tirx.Expr:
        if getattr(call.op, "name", None) != _EXTERN or call.args[0].value != _NAME:
            return call
        return tirx.if_then_else(*call.args[1:])

    return tvm_ffi.structural_map(func, ((ir.Call, shown),))
