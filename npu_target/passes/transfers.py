"""Transfers: which loops of a copy become the rows, columns and blocks of one command.

A command moves rows of one or several blocks of columns, a block as wide as a row of the memory;
how many, the device's rules say (:mod:`npu_target.device.copy_rules`).  Of a copy's loops, one is
the column; one whose neighbours are the next elements in DRAM may be the blocks; those that walk
the tile row by row are the rows.  The others remain loops.  The conditions of the copy bound the
rows and columns, or decide whether there is anything to read.

The columns of a tile's row past the last valid one are left as they are: definitions must not
observe them, and :mod:`npu_target.passes.columns` refuses those that do.  Rows outside the valid
ones are written with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..device.copy_rules import CopyRules
from .copies import Load, Store
from .errors import CodegenError
from .linear import Linear, combine


class LoopExtent(NamedTuple):
    """A loop around a copy; its name is that of its variable, in messages."""

    loop_id: int
    extent: int
    name: str = ""


def names_of(loops: Sequence[LoopExtent]) -> dict[int, str]:
    """The names of loops, for messages."""
    return {loop.loop_id: loop.name for loop in loops if loop.name}


class Transfer(NamedTuple):
    """A copy with its axes chosen.  Forms hold the variables of ``outer`` and of loops outside."""

    outer: tuple[LoopExtent, ...]
    guards: tuple[Linear, ...]  # all >= 0, or nothing is valid
    rows: int  # of the tile
    first_row: Linear  # the valid rows are first_row <= row < end_row, clipped to the tile
    end_row: Linear
    row_bytes: int  # in DRAM, between rows
    blocks: int  # of columns, each as wide as a row of the memory
    block_rows: int  # in the tile, between blocks
    columns: Linear  # valid ones, over all blocks; at least 1
    tile_row: Linear  # of the first row
    dram_bytes: Linear  # of the first element


def plan_transfer(copy: Load | Store, loops: tuple[LoopExtent, ...], rules: CopyRules) -> Transfer:
    """Choose the axes of a copy.

    Raises
    ------
    CodegenError
        if the columns of a row are not neighbours in DRAM, or a condition is of a form that
        bounds neither rows nor columns.
    """
    dim = copy.memory.columns
    column = column_loop(copy, loops)
    rest = [loop for loop in loops if loop is not column]
    block = block_loop(copy, column, rest, rules)
    blocks = block.extent if block else 1
    if block:
        rest.remove(block)
    row_ids, rows = _row_loops(copy, column, rest)
    outer = tuple(loop for loop in rest if loop.loop_id not in row_ids)

    inner = (column.loop_id, *row_ids, *((block.loop_id,) if block else ()))
    first, end, columns = Linear(), Linear(rows), Linear(blocks * dim)
    if isinstance(copy, Load) and copy.stack is not None:
        columns = Linear(copy.stack.columns)
    guards: list[Linear] = []
    for form in copy.valid:
        if form.depends_on(column.loop_id) or (block and form.depends_on(block.loop_id)):
            bound = _column_bound(form, column, inner)
            columns = combine("min", columns, bound)
        elif any(form.depends_on(loop_id) for loop_id in row_ids):
            lower, value = _row_bound(form, row_ids, inner)
            if lower:
                first = combine("max", first, value)
            else:
                end = combine("min", end, value)
        elif form.is_const:
            if form.const < 0:
                guards.append(form)
        else:
            guards.append(form)
    end = combine("max", end, Linear())
    first = combine("min", first, Linear(rows))
    row_step = copy.offset.coefficient(row_ids[0]) if row_ids else 0
    if row_step < 0 and not (isinstance(copy, Load) and copy.source is None):
        name = names_of(loops).get(row_ids[0], "")
        raise CodegenError(
            f"loop `{name}` walks the rows of DRAM backwards, {-row_step} elements at a time: rows "
            "of a copy lie in DRAM in the order that they have in the tile"
        )
    return Transfer(
        outer,
        tuple(guards),
        rows,
        first,
        end,
        row_step * copy.element_bytes,
        blocks,
        copy.row.coefficient(block.loop_id) if block else dim,
        columns,
        copy.row.without(*inner),
        copy.offset.without(*inner) * copy.element_bytes,
    )


def column_loop(copy: Load | Store, loops: tuple[LoopExtent, ...]) -> LoopExtent:
    """The loop over the columns of a row.  Raises CodegenError where no loop is."""
    dim = copy.memory.columns
    for loop in loops:
        if copy.column == Linear.loop(loop.loop_id) and loop.extent == dim:
            neighbours = copy.offset.coefficient(loop.loop_id) == 1
            if isinstance(copy, Load) and copy.source is None:
                neighbours = True
            is_linear = copy.offset.is_linear_in(loop.loop_id)
            if neighbours and is_linear and not copy.row.depends_on(loop.loop_id):
                return loop
    raise CodegenError(
        f"a copy must move whole rows of {dim} neighbouring elements: "
        + _why_no_column(copy, loops)
    )


def _why_no_column(copy: Load | Store, loops: Sequence[LoopExtent]) -> str:
    walking = [loop for loop in loops if copy.column.depends_on(loop.loop_id)]
    if len(walking) == 1 and copy.column == Linear.loop(walking[0].loop_id):
        (loop,) = walking
        step = copy.offset.coefficient(loop.loop_id)
        if loop.extent == copy.memory.columns and copy.offset.is_linear_in(loop.loop_id):
            return (
                f"along the columns of the tile, loop `{loop.name}`, they lie {step} apart in DRAM"
            )
    column = copy.column.text(names_of(loops))
    return (
        f"no loop of {copy.memory.columns} iterations walks both the columns of the tile's rows "
        f"({column}) and neighbours in DRAM"
    )


def block_loop(
    copy: Load | Store, column: LoopExtent, rest: list[LoopExtent], rules: CopyRules
) -> LoopExtent | None:
    """The loop over neighbouring blocks of columns, if the command can take several."""
    dim = copy.memory.columns
    if isinstance(copy, Store):
        if rules.most_store_columns(copy) <= dim:
            return None
    elif copy.source is None or rules.most_load_columns(copy.element_bytes) <= dim:
        return None
    elif copy.stack is not None:
        return None  # its columns are the first ones of a block
    for loop in rest:
        bounds = {(f.coefficient(column.loop_id), f.coefficient(loop.loop_id)) for f in copy.valid}
        if (
            advances_evenly(copy, loop)
            and copy.offset.coefficient(loop.loop_id) == dim
            and rules.reaches_blocks(copy, copy.row.coefficient(loop.loop_id))
            and bounds <= {(0, 0), (-1, -dim)}
            # One row after the other they are rows of a command, which takes more of those.
            and not (copy.row.coefficient(loop.loop_id) == 1 and bounds <= {(0, 0)})
        ):
            return loop
    return None


def advances_evenly(copy: Load | Store, loop: LoopExtent) -> bool:
    """Whether places and conditions advance evenly along a loop, so that a command may walk it.
    All that a command stores has one scale."""
    if isinstance(copy, Store) and copy.block.depends_on(loop.loop_id):
        return False
    forms = (copy.row, copy.offset, *copy.valid)
    return all(form.is_linear_in(loop.loop_id) for form in forms)


def _row_loops(
    copy: Load | Store, column: LoopExtent, rest: list[LoopExtent]
) -> tuple[tuple[int, ...], int]:
    """Ids of the loops that together walk the tile row by row, innermost first; their rows."""
    if isinstance(copy, Store) and copy.pooling is not None:
        return (), 1  # the command walks the image itself
    # Rows of one command have the same columns.
    columns = [form for form in copy.valid if form.depends_on(column.loop_id)]
    rest = [x for x in rest if not any(form.depends_on(x.loop_id) for form in columns)]
    rest = [x for x in rest if advances_evenly(copy, x)]
    inner = next((x for x in reversed(rest) if copy.row.coefficient(x.loop_id) == 1), None)
    if inner is None:
        return (), 1
    ids, rows = [inner.loop_id], inner.extent
    bounded = {x.loop_id for x in rest if any(f.depends_on(x.loop_id) for f in copy.valid)}
    step = copy.offset.coefficient(inner.loop_id)
    reads = not (isinstance(copy, Load) and copy.source is None)
    while not bounded.intersection(ids):
        following = next(
            (
                x
                for x in rest
                if x.loop_id not in ids
                and x.loop_id not in bounded
                and copy.row.coefficient(x.loop_id) == rows
                and (not reads or copy.offset.coefficient(x.loop_id) == step * rows)
            ),
            None,
        )
        if following is None:
            break
        ids.append(following.loop_id)
        rows *= following.extent
    return tuple(ids), rows


def _column_bound(form: Linear, column: LoopExtent, inner: tuple[int, ...]) -> Linear:
    """How many columns satisfy ``form >= 0`` that falls by 1 a column."""
    bound = form.without(*inner)
    if form.coefficient(column.loop_id) != -1 or any(bound.depends_on(x) for x in inner):
        raise CodegenError(
            "a condition does not bound the columns of a row: it has to say that they are fewer "
            "than so many, as many for all rows of a command"
        )
    return bound + 1


def _row_bound(
    form: Linear, row_ids: tuple[int, ...], inner: tuple[int, ...]
) -> tuple[bool, Linear]:
    """(True, first row) or (False, end row) from ``form >= 0``."""
    rest = form.without(*inner)
    if len(row_ids) != 1 or any(rest.depends_on(x) for x in inner):
        raise CodegenError(
            "a condition does not bound the rows of a copy: it has to say of one loop over them "
            "from where on, or up to where, they are read"
        )
    slope = form.coefficient(row_ids[0])
    if slope > 0:  # row >= ceil(-rest / slope)
        return True, combine("floordiv", rest * -1 + (slope - 1), Linear(slope))
    # row <= floor(rest / -slope)
    return False, combine("floordiv", rest, Linear(-slope)) + 1
