"""Tiles as a schedule leaves them, put into the device's blocks of columns.

The memories of a device have rows of so many elements.  A definition of ours has its tiles in
blocks of as many columns, ``[batch, blocks, ..., rows, columns]``; ``cache_read`` and
``cache_write`` make tiles of the shape of a tensor, ``[..., rows, n]``.  Such a tile becomes
``[1, ceil(n / columns), ..., rows, columns]``, and the loop over the columns of a copy two, one
over blocks and one over the columns of a row.  What of the last block is past the tile's columns
is neither loaded nor stored.  Copies of fewer columns than a row has get a loop over all of them
the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import tvm
import tvm_ffi
from tvm import sym, tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from ..device import DeviceConfig, kind_of
from ..intrin import PACKED, step_call
from .bounds import least
from .copies import is_call, without_self
from .errors import CodegenError
from .linear import Linear, constant, linear
from .named import text_of
from .row_tiles import RowTile
from .sources import replaced


def block_tiles(
    func: tirx.PrimFunc,
    buffers: Sequence[tirx.Buffer],
    versions: Mapping[str, int],
    config: DeviceConfig,
) -> tirx.PrimFunc:
    """A lowered function whose tiles have rows as the memories do.

    Parameters
    ----------
    buffers : those that it allocates.
    versions : the names of tiles whose first dimension is of versions.

    Raises
    ------
    CodegenError
        where a copy or a step begins or ends inside of a block.
    """
    tiles: dict[tirx.Buffer, RowTile] = {}
    for buffer in buffers:
        memory = config.memories.find(buffer.scope())
        if memory is not None:
            tiles[buffer] = RowTile.of(buffer, memory, buffer.name in versions)
    blocking = _Blocking(tiles, config)
    stores: list[BufferStore] = []
    extents: dict[Var, tirx.Expr] = {}
    tvm_ffi.structural_walk(
        func.body,
        (
            (BufferStore, stores.append),
            (tirx.For, lambda loop: extents.update({loop.loop_var: loop.extent})),
        ),
    )
    if all(blocking.is_of_rows(store, extents) for store in stores):
        return func
    if not all(tile.is_blocked for tile in tiles.values()):
        for store in stores:
            blocking.check_copy(store)
    body = blocking.statement(func.body)
    mod = tvm.IRModule({"main": func.with_body(body)})
    return tirx.transform.StmtSimplify()(mod)["main"]


class _Blocking:
    """Rewrites the statements of a function."""

    def __init__(self, tiles: Mapping[tirx.Buffer, RowTile], config: DeviceConfig) -> None:
        self._tiles = tiles
        self._intrinsics = kind_of(config).intrinsics(config)
        self._env: dict[Var, Linear] = {}
        self._extents: dict[int, int] = {}

    def is_of_rows(self, store: BufferStore, extents: Mapping[Var, tirx.Expr]) -> bool:
        """Whether a statement copies whole rows by a loop over their columns, or no tile."""
        touched = self._columns(store)
        if touched is None:
            return True
        tile, column = touched
        extent = extents.get(column) if isinstance(column, Var) else None
        return tile.is_blocked and extent is not None and constant(extent) == tile.columns

    def statement(self, stmt: tirx.Stmt) -> tirx.Stmt:
        """A statement with all that is in it, in blocks."""
        if isinstance(stmt, tirx.SeqStmt):
            return tirx.SeqStmt([self.statement(part) for part in stmt.seq])
        if isinstance(stmt, tirx.AllocBuffer):
            tile = self._tiles.get(stmt.buffer)
            if tile is None or tile.is_blocked:
                return stmt
            return tirx.AllocBuffer(tile.new, stmt.annotations)
        around: list[tirx.For | tirx.IfThenElse] = []
        leaf = stmt
        while isinstance(leaf, tirx.For) or (
            isinstance(leaf, tirx.IfThenElse) and leaf.else_case is None
        ):
            around.append(leaf)
            if isinstance(leaf, tirx.For):
                number = len(self._extents)
                self._extents[number] = constant(leaf.extent)
                self._env[leaf.loop_var] = Linear.loop(number) + constant(leaf.min)
            leaf = leaf.body if isinstance(leaf, tirx.For) else leaf.then_case
        if isinstance(leaf, BufferStore):
            return self._copy(around, leaf)
        if isinstance(leaf, tirx.Evaluate):
            leaf = self._step(leaf)
        elif isinstance(leaf, tirx.IfThenElse):
            then, otherwise = self.statement(leaf.then_case), self.statement(leaf.else_case)
            leaf = tirx.IfThenElse(leaf.condition, then, otherwise)
        elif isinstance(leaf, (tirx.SeqStmt, tirx.AllocBuffer)):
            leaf = self.statement(leaf)
        return _rebuilt(around, leaf)

    # ---- steps --------------------------------------------------------------------------

    def _step(self, stmt: tirx.Evaluate) -> tirx.Stmt:
        call = step_call(stmt.value, self._intrinsics)
        if call is None:
            return stmt
        for load in call.elements:
            tile = self._tiles.get(load.source)
            if tile is None or tile.is_blocked:
                continue
            column = linear(load.indices[-1], self._env)
            if not _is_multiple(column, tile.columns):
                raise tile.error(
                    f"a step begins at column {load.indices[-1]}; {tile.needed}: it has to begin "
                    "at a multiple of that",
                    stmt,
                )
            if least(column * -1 + (tile.n - tile.columns), self._extents) < 0:
                raise tile.error(
                    f"a step takes {tile.columns} columns from column {load.indices[-1]} on, "
                    f"the tile has {tile.n}: pad it (`pad_einsum`)",
                    stmt,
                )

        def moved(load: TensorLoad) -> TensorLoad:
            tile = self._tiles.get(load.source)
            if tile is None or tile.is_blocked:
                return load
            block = _divided(load.indices[-1], tile.columns)
            zero = tirx.IntImm("int32", 0)
            return tile.new[tuple(tile.indices(load.indices, block, zero))]

        return tvm_ffi.structural_map(stmt, ((TensorLoad, moved),))

    # ---- copies -------------------------------------------------------------------------

    def _copy(self, around: list[tirx.For | tirx.IfThenElse], store: BufferStore) -> tirx.Stmt:
        """A nest around a store, the loop over the columns of its tile in two."""
        columns = self._columns(store)
        if columns is None:
            return _rebuilt(around, store)
        tile, index = columns
        is_load = store.buffer in self._tiles
        form, D = linear(index, self._env), tile.columns
        loop = self._column_loop(around, form)
        if tile.is_blocked and loop is not None and _is_row(form, loop, self._env, D):
            return _rebuilt(around, store)
        if is_load and any(isinstance(s, tirx.For) and PACKED in s.annotations for s in around):
            raise tile.error(
                f"a load marked {PACKED} fills it; {tile.needed}: such a tile has to be "
                "[..., blocks, rows, columns]",
                store,
            )
        extent = 1 if loop is None else constant(loop.extent)
        first = form if loop is None else form - self._env[loop.loop_var] + constant(loop.min)
        walked = "a copy" if loop is None else f"loop `{loop.loop_var.name}` of {extent} columns"
        if not _is_multiple(first, D):
            raise tile.error(
                f"{walked} begins at column `{_first_text(index, loop)}`; {tile.needed}: a copy "
                "has to walk its columns by one loop that begins at a multiple of that",
                store,
            )
        if is_load and extent % D and first != Linear(tile.n - extent):
            raise tile.error(
                f"{walked} begins at column `{_first_text(index, loop)}` and ends inside of a row; "
                f"{tile.needed}, the tile {tile.n}: load a multiple of that, or up to the tile's "
                "end",
                store,
            )
        dtype = "int32" if loop is None else loop.loop_var.ty.dtype
        name = "column" if loop is None else str(loop.loop_var.name)
        block, column = Var(f"{name}_block", dtype), Var(f"{name}_column", dtype)
        split = _Split(loop, (block, -(-extent // D)), (column, D))
        start = _divided(replaced(index, loop.loop_var, loop.min) if loop else index, D)

        def moved(tile_indices: Sequence[tirx.Expr]) -> tuple[tirx.Expr, ...]:
            return tuple(tile.indices(tile_indices, start + block, column))

        def load_moved(load: TensorLoad) -> TensorLoad:
            if load.source.same_as(tile.old):
                return tile.new[moved(load.indices)]
            if loop is not None:
                return load
            alone = (*load.indices[:-1], load.indices[-1] + column)
            return load.source[alone]

        value = tvm_ffi.structural_map(store.value, ((TensorLoad, load_moved),))
        is_inside = split.value < tirx.IntImm(dtype, extent) if extent % D else None
        indices = tuple(store.indices)
        if is_load:
            if is_inside is not None:
                value = _loaded_inside(value, is_inside, tile.new)
            indices = moved(store.indices)
        elif loop is None:
            indices = (*indices[:-1], indices[-1] + column)
        leaf: tirx.Stmt = BufferStore(tile.new if is_load else store.buffer, value, indices)
        if is_inside is not None and not is_load:
            leaf = tirx.IfThenElse(is_inside, leaf, None)
        return _rebuilt(around, leaf, split)

    def _column_loop(
        self, around: Sequence[tirx.For | tirx.IfThenElse], column: Linear
    ) -> tirx.For | None:
        """The loop around a copy that walks its columns one by one, None where it has only one."""
        for stmt in around:
            if isinstance(stmt, tirx.For):
                (number,) = self._env[stmt.loop_var].variables()
                if column.coefficient(number) == 1 and column.is_linear_in(number):
                    return stmt
        return None

    def check_copy(self, store: BufferStore) -> None:
        """Raise CodegenError for a statement that is no copy between DRAM and a tile."""
        found: list[TensorLoad] = []
        tvm_ffi.structural_walk(without_self(store)[0], (TensorLoad, found.append))
        if any((load.source in self._tiles) == (store.buffer in self._tiles) for load in found):
            raise CodegenError(
                f"no command computes `{text_of(store)}`: it is no copy between DRAM and a tile; "
                "what computes has to be done by an intrinsic of the device (`tensorize`)",
                store,
            )

    def _columns(self, store: BufferStore) -> tuple[RowTile, tirx.Expr] | None:
        """The tile to be blocked that a copy writes, or reads, and its column."""
        if store.buffer in self._tiles:
            return self._tiles[store.buffer], store.indices[-1]
        found: list[TensorLoad] = []
        tvm_ffi.structural_walk(store.value, (TensorLoad, found.append))
        loads = [load for load in found if load.source in self._tiles]
        return (self._tiles[loads[0].source], loads[0].indices[-1]) if loads else None


class _Split(NamedTuple):
    """A loop (None: none, the two go around the innermost statement), and its two with their
    extents."""

    loop: tirx.For | None
    blocks: tuple[Var, int]
    columns: tuple[Var, int]

    @property
    def value(self) -> tirx.Expr:
        """What the loop's variable is, counted from its first value."""
        (block, _), (column, columns) = self.blocks, self.columns
        return block * tirx.IntImm(column.ty.dtype, columns) + column


def _rebuilt(
    around: Sequence[tirx.For | tirx.IfThenElse],
    leaf: tirx.Stmt,
    split: _Split | None = None,
) -> tirx.Stmt:
    """A statement in the same loops and conditions, one loop in two."""
    stmt = leaf
    if split is not None and split.loop is None:
        stmt = _in_two(split, stmt, {})
    for outer in reversed(around):
        if isinstance(outer, tirx.IfThenElse):
            stmt = tirx.IfThenElse(outer.condition, stmt, None)
        elif split is not None and split.loop is not None and outer.same_as(split.loop):
            stmt = replaced(stmt, outer.loop_var, outer.min + split.value)
            stmt = _in_two(split, stmt, dict(outer.annotations))
        else:
            stmt = tirx.For(
                outer.loop_var,
                outer.min,
                outer.extent,
                outer.kind,
                stmt,
                None,
                dict(outer.annotations),
            )
    return stmt


def _in_two(split: _Split, stmt: tirx.Stmt, annotations: dict[str, object]) -> tirx.Stmt:
    for (variable, extent), marks in ((split.columns, {}), (split.blocks, annotations)):
        zero, count = (tirx.IntImm(variable.ty.dtype, n) for n in (0, extent))
        stmt = tirx.For(variable, zero, count, tirx.ForKind.SERIAL, stmt, None, marks)
    return stmt


def _loaded_inside(value: tirx.Expr, is_inside: tirx.Expr, tile: tirx.Buffer) -> tirx.Expr:
    """The value that a load writes to a tile, under a condition on the column: elsewhere 0,
    or what it writes as padding."""
    if isinstance(value, tirx.IntImm):
        return value
    if isinstance(value, tirx.Add):  # to what is there
        for mine, other in ((value.a, value.b), (value.b, value.a)):
            if isinstance(mine, TensorLoad) and mine.source.same_as(tile):
                return mine + _loaded_inside(other, is_inside, tile)
    if is_call(value, "prim.if_then_else") and isinstance(value.args[2], tirx.IntImm):
        condition, element, otherwise = value.args
        return tirx.if_then_else(tirx.And(condition, is_inside), element, otherwise)
    return tirx.if_then_else(is_inside, value, tirx.IntImm(str(tile.dtype), 0))


def _is_row(column: Linear, loop: tirx.For, env: Mapping[Var, Linear], columns: int) -> bool:
    """Whether a loop walks all columns of a row."""
    return column == env[loop.loop_var] and constant(loop.extent) == columns


def _is_multiple(form: Linear, divisor: int) -> bool:
    return form.const % divisor == 0 and all(factor % divisor == 0 for _, factor in form.items)


def _divided(index: tirx.Expr, divisor: int) -> tirx.Expr:
    """A multiple of a number, divided by it."""
    return sym.Analyzer().simplify(tirx.floordiv(index, divisor))


def _first_text(index: tirx.Expr, loop: tirx.For | None) -> str:
    if loop is None:
        return str(index)
    return str(sym.Analyzer().simplify(replaced(index, loop.loop_var, loop.min)))
