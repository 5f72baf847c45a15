"""What is wrong with the software pipelines that a schedule asks for.

TVM's pass says it in its own terms; here it is said which loop it is, and what its statements are.
"""

from __future__ import annotations

from collections.abc import Sequence

import tvm_ffi
from tvm import s_tir, tirx

_STAGE, _ORDER = "software_pipeline_stage", "software_pipeline_order"


def wrong_pipeline(func: tirx.PrimFunc) -> str | None:
    """What is wrong with the annotations of a scheduled function's loops; None if nothing is that
    their numbers, and what the statements read and write, tell."""
    loops: list[tirx.For] = []
    tvm_ffi.structural_walk(func.body, (tirx.For, loops.append))
    nested = None  # said where nothing else is wrong: TVM counts other statements then
    for loop in loops:
        annotated = {
            name: loop.annotations[name] for name in (_STAGE, _ORDER) if name in loop.annotations
        }
        if not annotated:
            continue
        statements = _statements(loop)
        where = f"loop `{loop.loop_var.name}`"
        inner = _pipelined_in(loop.body)
        if inner is not None:
            nested = (
                f"{where}: holds loop `{inner.loop_var.name}`, which is pipelined, too: what TVM "
                "makes of it counts as up to three statements, those before, the loop and those "
                f"behind: give {_STAGE} and {_ORDER} a number for each"
            )
            continue
        names = ", ".join(map(_name, statements))
        for name in (_STAGE, _ORDER):
            if name not in annotated:
                return f"{where}: is annotated with {', '.join(annotated)}, needs {name} as well"
            numbers = _numbers(loop, name)
            if len(numbers) != len(statements):
                return (
                    f"{where}: {name} is {numbers}, the loop holds {len(statements)} statements "
                    f"({names}): give a number for each"
                )
            if name == _ORDER and sorted(numbers) != list(range(len(numbers))):
                return f"{where}: {name} is {numbers}, needs each of 0 to {len(numbers) - 1} once"
        reason = _out_of_order(statements, _numbers(loop, _STAGE), _numbers(loop, _ORDER))
        if reason is not None:
            return f"{where}: {reason}"
    return nested


def _pipelined_in(stmt: tirx.Stmt) -> tirx.For | None:
    """A pipelined loop in a statement."""
    found: list[tirx.For] = []
    tvm_ffi.structural_walk(stmt, (tirx.For, found.append))
    return next((loop for loop in found if _STAGE in loop.annotations), None)


def too_few_iterations(func: tirx.PrimFunc) -> str | None:
    """Which pipelined loop has fewer iterations than stages lie between its first and its last, of
    which TVM's pass makes a loop before and one behind that run some of them twice; None if none.
    """
    loops: list[tirx.For] = []
    tvm_ffi.structural_walk(func.body, (tirx.For, loops.append))
    for loop in loops:
        last = max(_numbers(loop, _STAGE), default=0) if _STAGE in loop.annotations else 0
        extent = int(loop.extent)
        if extent < last:
            return (
                f"loop `{loop.loop_var.name}`: software_pipeline_stage goes to {last}, the loop "
                f"has {extent} iteration{'s' if extent > 1 else ''}: needs as many iterations as "
                "its last stage"
            )
    return None


def _numbers(loop: tirx.For, name: str) -> list[int]:
    return [int(number) for number in loop.annotations[name]]


def _out_of_order(
    statements: Sequence[tirx.Stmt], stages: Sequence[int], order: Sequence[int]
) -> str | None:
    """Which statement would run before one whose results it uses."""
    for i, first in enumerate(statements):
        written = _buffers(first, ("writes",))
        for j in range(i + 1, len(statements)):
            both = sorted(written & _buffers(statements[j], ("reads", "writes")))
            if not both or (stages[i], order[i]) < (stages[j], order[j]):
                continue
            uses = f"{_name(statements[j])} uses {both[0]}, which {_name(first)} writes"
            if stages[i] > stages[j]:
                return f"{uses}, but is of stage {stages[j]}, before its stage {stages[i]}"
            if stages[i] == stages[j]:
                return f"{uses}, but comes before it in the order of their stage {stages[i]}"
    return None


def _buffers(stmt: tirx.Stmt, regions: Sequence[str]) -> set[str]:
    """The names of buffers that the blocks of a statement write, or read."""
    found: set[str] = set()

    def visit(block: s_tir.SBlock) -> None:
        for name in regions:
            found.update(str(region.source.name) for region in getattr(block, name))

    tvm_ffi.structural_walk(stmt, (s_tir.SBlock, visit))
    return found


def _statements(loop: tirx.For) -> list[tirx.Stmt]:
    """The statements of a loop's body."""
    body = loop.body
    while isinstance(body, s_tir.SBlockRealize):
        body = body.block.body
    return list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]


def _name(stmt: tirx.Stmt) -> str:
    """The blocks of a statement."""
    names: list[str] = []
    tvm_ffi.structural_walk(stmt, (s_tir.SBlock, lambda block: names.append(str(block.name_hint))))
    return " and ".join(f"`{name}`" for name in dict.fromkeys(names)) or "one without a block"
