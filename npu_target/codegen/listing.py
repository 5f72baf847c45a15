"""Statements and placed operations as text, to be read by people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..device.intrinsic import Access
from ..passes.linear import Atom, Key, Linear
from ..passes.transfers import LoopExtent
from .nests import CopyNest, StepNest
from .operations import CopyOperation, Guard
from .placed import Placed, PlacedCopy, PlacedLoop, PlacedStep
from .statements import Branch, Repeat, Statement
from .statements import Sequence as InTurn

_INDENT = "  "
_SIGNS = {"floordiv": "//", "floormod": "%"}


def statements_text(statements: Iterable[Statement]) -> str:
    """A line for each nest: what it is, its loops' extents, what it is around."""
    return "\n".join(_statements(statements, ""))


def placed_text(placed: Iterable[Placed], arguments: Sequence[str]) -> str:
    """A line for each operation, those that are loops' inside of them.  ``arguments`` are the names
    of the program's."""
    return "\n".join(_placed(placed, arguments, ""))


def _statements(statements: Iterable[Statement], indent: str) -> Iterable[str]:
    for stmt in statements:
        if isinstance(stmt, InTurn):
            yield from _statements(stmt.parts, indent)
        elif isinstance(stmt, Repeat):
            end = stmt.start + stmt.extent
            versions = f", versions come round after {stmt.period}" if stmt.period > 1 else ""
            yield f"{indent}for {stmt.name} in {stmt.start}..{end}{versions}:"
            yield from _statements([stmt.body], indent + _INDENT)
        elif isinstance(stmt, Branch):
            yield f"{indent}if {stmt.condition}:"
            yield from _statements([stmt.then], indent + _INDENT)
            yield f"{indent}else:"
            yield from _statements([stmt.otherwise], indent + _INDENT)
        elif isinstance(stmt, (CopyNest, StepNest)):
            what = "steps"
            if isinstance(stmt, CopyNest):
                what = "load " if stmt.is_load else "store"
            extents = "x".join(str(loop.extent) for loop in stmt.loops) or "once"
            yield f"{indent}{what} {extents}: {stmt.text}"
        else:
            yield f"{indent}unsupported: {stmt.text}"


def _placed(placed: Iterable[Placed], arguments: Sequence[str], indent: str) -> Iterable[str]:
    for one in placed:
        if isinstance(one, PlacedLoop):
            yield f"{indent}for {_loop(one.loop)}:"
            yield from _placed(one.body, arguments, indent + _INDENT)
        elif isinstance(one, PlacedCopy):
            yield indent + _copy(one.operation, arguments)
        elif isinstance(one, PlacedStep):
            yield indent + _step(one)
        else:
            number = len(one.nodes())
            if number:
                yield f"{indent}{number} other command{'s' if number > 1 else ''}"


def _copy(operation: CopyOperation, arguments: Sequence[str]) -> str:
    kind = operation.kind
    tile = f"{kind.memory.title} row {form_text(operation.row)}"
    dram = "zeros"
    if kind.argument is not None:
        dram = f"{arguments[kind.argument]} byte {form_text(operation.dram_bytes)}"
    ends = (dram, tile) if operation.is_load else (tile, dram)
    size = f"{form_text(operation.rows)} rows x {form_text(operation.columns)} columns"
    if not operation.most_rows:
        size = f"rows of windows x {form_text(operation.columns)} columns"
    loops = "".join(f" for {_loop(loop)}" for loop in operation.loops)
    guards = "".join(f" if {_guard(guard)}" for guard in operation.guards)
    return f"{kind.engine.value:8}{ends[0]} -> {ends[1]}, {size}{loops}{guards}"


def _step(placed: PlacedStep) -> str:
    step = placed.step
    texts = []
    for operand, first in zip(step.operands, step.first_rows, strict=True):
        row = first + placed.row * operand.row_step if operand.follows else first
        verb = operand.access.value
        if operand.access is Access.ADD and placed.overwrites:
            verb = Access.WRITE.value
        kept = not operand.follows and step.intrinsic.keeps_stationary
        held = " (held)" if kept and not placed.new_stationary else ""
        texts.append(f"{verb} {form_text(row)}{held}")
    return f"{placed.engine.value:8}{step.intrinsic.call} {placed.rows} rows: {', '.join(texts)}"


def _loop(loop: LoopExtent) -> str:
    return f"i{loop.loop_id} in 0..{loop.extent}"


def _guard(guard: Guard) -> str:
    text = " and ".join(f"0 <= {form_text(form)}" for form in guard.forms)
    return f"not ({text})" if guard.negated else text


def form_text(form: Linear) -> str:
    """``16*i2 + 4096``; loops as programs name them."""
    text = ""
    for key, factor in form.items:
        what = _key_text(key)
        term = what if abs(factor) == 1 else f"{abs(factor)}*{what}"
        sign = "-" if factor < 0 else "+"
        text += (f" {sign} " if text else sign.strip("+")) + term
    if not text:
        return str(form.const)
    if form.const:
        text += f" {'-' if form.const < 0 else '+'} {abs(form.const)}"
    return text


def _key_text(key: Key) -> str:
    if not isinstance(key, Atom):
        return f"i{key}"
    a, b = form_text(key.a), form_text(key.b)
    sign = _SIGNS.get(key.op)
    return f"{key.op}({a}, {b})" if sign is None else f"({a}) {sign} {b}"
