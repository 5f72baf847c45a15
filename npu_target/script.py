"""TVMScript read once, and without a look at the whole stack of calls.

TVM's ``T.prim_func`` has Python describe every frame of the stack, with its lines of source, twice
a function: that is most of what parsing costs, and grows with what calls.  It serves functions
inside of classes, which there are none of here, and finds what annotations name, for which the
innermost frame suffices.  Of the rest, a third to a half is reading the text, also twice; the same
text defines all operators of a kind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
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
        from tvm.script.parser._core import utils

        # What annotations alone name is none of the function's own variables.
        nonlocals = utils.get_func_nonlocals(function)
        return _parsed(function, {**function.__globals__, **around, **nonlocals})

    parsed.dispatch_token = "tirx"  # type: ignore[attr-defined]
    return parsed


# TVM is imported in functions, since whoever imports this module may be what imports TVM.


def _parsed(function: Any, variables: dict[str, Any]) -> PrimFunc:
    """What `tvm.script.parser.parse` makes of a function, whose text is read once."""
    import tvm
    from tvm.script.ir_builder import IRBuilder
    from tvm.script.parser.core.error import ParserError
    from tvm.script.parser.core.parser import Parser

    source = _source_of(function.__code__)
    parser = Parser(source, {function.__name__: function.__annotations__})
    with IRBuilder() as builder:
        try:
            parser.parse(variables)
        except ParserError as error:
            parser.report_error(error.node, error.args[0])
    func = builder.get()
    try:
        tvm.s_tir.analysis.verify_well_formed(func)
        if not func.attrs.get("s_tir", False):
            tvm.tirx.analysis.verify_tirx_well_formed(func)
    except (RuntimeError, ValueError) as error:
        parser.report_error(source.as_ast(), f"it is not well-formed: {error}")
    return func


@lru_cache(maxsize=256)
def _source_of(code: CodeType) -> Any:
    """The text of a function, with the tree that it is parsed to."""
    from tvm.script.parser.core.diagnostics import Source

    source = Source(code)
    tree = source.as_ast()
    source.as_ast = lambda: tree
    return source
