"""TVMScript without a look at the whole stack of calls.

TVM's ``T.prim_func`` has Python describe every frame of the stack, with its lines of source, twice
a function: that is most of what parsing costs, and grows with what calls.  It serves functions
inside of classes, which there are none of here, and finds what annotations name, for which the
innermost frame suffices.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tvm.tirx import PrimFunc


# Called by this name in a decorator, `@script.prim_func(s_tir=True)`: TVM's parser reads its
# arguments from there.
def prim_func(*, s_tir: bool) -> Callable[[Any], PrimFunc]:
    """What makes a `PrimFunc` of a function in TVMScript, as ``T.prim_func`` does.

    s_tir : whether it has blocks to be scheduled.

    Raises tvm.error.DiagnosticError for what is no TVMScript.
    """

    frame = inspect.currentframe()
    around = frame.f_back.f_locals if frame is not None and frame.f_back is not None else {}

    def parsed(function: Any) -> PrimFunc:
        # Here, since whoever imports this module may be what imports TVM.
        from tvm.script.parser._core import parse, utils

        # What annotations alone name is none of the function's own variables.
        nonlocals = utils.get_func_nonlocals(function)
        return parse(function, {**function.__globals__, **around, **nonlocals})

    parsed.dispatch_token = "tirx"  # type: ignore[attr-defined]
    return parsed
