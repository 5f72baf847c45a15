"""Which block of a schedule a message is about.

Lowering leaves loops around statements; blocks are gone.  But tiles and arguments keep their names,
and a block is known by what it writes and reads.
"""

from __future__ import annotations

from typing import NamedTuple

import tvm_ffi
from tvm import ir, s_tir, tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore

from .errors import CodegenError


def in_words_of(func: tirx.PrimFunc, error: CodegenError) -> str:
    """The text of an error of a scheduled function, with the block that it is about, if that can
    be told."""
    blocks = _blocks_at(func, error.at)
    if not blocks:
        return str(error)
    text = str(error)
    if not isinstance(error.at, str) and len(blocks) == 1:  # as the schedule has it
        (statement,) = blocks.values()
        text = text.replace(text_of(error.at), text_of(statement))
    names = " or ".join(f"`{name}`" for name in blocks)
    return f"block {names}: {text}"


def text_of(stmt: tirx.Stmt) -> str:
    """A statement without the declarations of its variables."""
    return str(stmt).splitlines()[-1]


class _Touched(NamedTuple):
    """The names of what a statement writes (none for a call), and of what it reads."""

    written: str
    read: frozenset[str]


def _blocks_at(func: tirx.PrimFunc, at: tirx.Stmt | str | None) -> dict[str, tirx.Stmt]:
    """The blocks of a statement, lowered or not, or of what writes a tile, by name: their own
    statements."""
    if at is None:
        return {}
    if isinstance(at, str):
        return {name: stmt for name, stmt, touched in _blocks(func) if touched.written == at}
    found, leaves = _blocks(func), _leaves(at)
    wanted = {_touched(leaf, {}) for leaf in leaves}
    its_own = {name: stmt for name, stmt, _ in found if any(map(stmt.same_as, leaves))}
    return its_own or {name: stmt for name, stmt, touched in found if touched in wanted}


def _blocks(func: tirx.PrimFunc) -> list[tuple[str, tirx.Stmt, _Touched]]:
    """The statements of the blocks that hold no other block."""
    blocks: list[s_tir.SBlock] = []
    tvm_ffi.structural_walk(func.body, (s_tir.SBlock, blocks.append))
    found = []
    for block in blocks:
        inner: list[s_tir.SBlock] = []
        tvm_ffi.structural_walk(block.body, (s_tir.SBlock, inner.append))
        if inner:
            continue
        matched = {
            str(match.buffer.name): str(match.source.source.name) for match in block.match_buffers
        }
        parts = [part for part in (block.init, block.body) if part is not None]
        leaves = [leaf for part in parts for leaf in _leaves(part)]
        found += [(str(block.name_hint), leaf, _touched(leaf, matched)) for leaf in leaves]
    return found


def _leaves(stmt: tirx.Stmt) -> list[tirx.Stmt]:
    """The statements in a statement that do something: a store or a call each."""
    leaves: list[tirx.Stmt] = []
    tvm_ffi.structural_walk(stmt, ((BufferStore, leaves.append), (tirx.Evaluate, leaves.append)))
    return leaves


def _touched(stmt: tirx.Stmt, matched: dict[str, str]) -> _Touched:
    names: list[str] = []

    def read(load: TensorLoad) -> None:
        name = str(load.source.name)
        names.append(matched.get(name, name))

    is_store = isinstance(stmt, BufferStore)
    value: ir.Expr = stmt.value
    tvm_ffi.structural_walk(value, (TensorLoad, read))
    written = str(stmt.buffer.name) if is_store else ""
    return _Touched(matched.get(written, written), frozenset(names))
