"""Stacked loads: rows of a tile that hold the same few columns of several rows of DRAM.

A definition reads them as `x[line + column // 5, column % 5]`.  The device writes what a command
loads for one row into the rows before it as well, five columns further to the right each time: so
this is a load of five columns, of a few more lines.
"""

from __future__ import annotations

from collections.abc import Callable

from ..device import Memories
from .copies import Load, Stack, Store
from .errors import CodegenError
from .linear import Atom, Key, Linear
from .transfers import LoopExtent, names_of


def stacked(
    copy: Load | Store,
    loops: tuple[LoopExtent, ...],
    fresh: Callable[[], int],
    memories: Memories,
) -> tuple[Load | Store, tuple[LoopExtent, ...]]:
    """A copy and its loops, where it is a stacked load as the command that does it.  ``fresh``
    gives a loop an id.

    Raises
    ------
    CodegenError
        for columns of several lines that are not those of neighbouring rows of the tile.
    """
    if not isinstance(copy, Load) or copy.source is None:
        return copy, loops
    column = next((loop for loop in loops if copy.column == Linear.loop(loop.loop_id)), None)
    division = None if column is None else _division(copy.offset, column)
    if column is None or division is None:
        return copy, loops
    width = division.b.const
    line_step = dict(copy.offset.items)[division]
    row = next((x for x in loops if copy.row.coefficient(x.loop_id) == 1), None)
    if row is None:  # the tile has one
        row = LoopExtent(fresh(), 1)
        loops = (*loops, row)
        copy = _along(copy, division, row)
    if copy.offset.coefficient(row.loop_id) != line_step or copy.memory == memories.sums:
        raise CodegenError(
            f"columns of {width} bytes come from several lines, which are not those of the rows of "
            f"a tile of the {memories.inputs.title}"
        )
    lines, valid = column.extent // width, []
    for form in copy.valid:
        if form.without(column.loop_id).is_const and form.coefficient(column.loop_id) == -1:
            lines, rest = divmod(form.const + 1, width)  # so many columns are valid
            if rest:
                raise CodegenError(f"{form.const + 1} columns are valid of lines of {width}")
        elif form.coefficient(column.loop_id) == 0 and all(
            key == division and factor == form.coefficient(row.loop_id)
            for key, factor in form.items
            if isinstance(key, Atom) and key.a.depends_on(column.loop_id)
        ):
            valid.append(_of_first_line(form, column))
        else:
            text = form.text(names_of(loops))
            raise CodegenError(f"condition {text} >= 0 tells columns of a line apart")
    load = copy._replace(
        offset=_of_first_line(copy.offset, column),
        valid=tuple(valid),
        stack=Stack(width, lines),
    )
    longer = row._replace(extent=row.extent + lines - 1)
    return load, tuple(longer if loop is row else loop for loop in loops)


def _along(copy: Load, division: Atom, row: LoopExtent) -> Load:
    """A load of the rows of a loop, each of the next line."""
    index = Linear.loop(row.loop_id)

    def moved(form: Linear) -> Linear:
        return form + index * dict(form.items).get(division, 0)

    return copy._replace(
        row=copy.row + index,
        offset=moved(copy.offset),
        valid=tuple(moved(form) for form in copy.valid),
    )


def _division(form: Linear, column: LoopExtent) -> Atom | None:
    """The division of the column in an offset that also has what is left, once."""
    for key, _ in form.items:
        if isinstance(key, Atom) and key.op == "floordiv" and key.a == Linear.loop(column.loop_id):
            rest = (Atom("floormod", key.a, key.b), 1)
            return key if key.b.is_const and rest in form.items else None
    return None


def _of_first_line(form: Linear, column: LoopExtent) -> Linear:
    """A form where the column is one of the first line's."""
    mine = Linear.loop(column.loop_id)
    terms: dict[Key, int] = {}
    for key, factor in form.items:
        if isinstance(key, Atom) and key.a == mine:
            if key.op == "floormod":
                terms[column.loop_id] = factor
        else:
            terms[key] = factor
    return Linear.of(form.const, terms)
