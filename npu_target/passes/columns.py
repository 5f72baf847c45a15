"""Which columns of a tile's rows hold what the definition says, and who looks at the others.

A load under a condition on the column (`if_then_else(block * dim + column < channels, ...)`) moves
the columns that satisfy it; the others stay what they were before, which is anything.  (Under
another condition it writes whole rows of zeros.)  Definitions get away with that by reading them
nowhere, or multiplying them by rows of zeros: a step multiplies column k of A by row k of B, and
what the columns of B hold goes to the same columns of the sums.  Here that is checked, on the
scheduled function, where tiles still have the coordinates of the definition.
"""

from __future__ import annotations

from dataclasses import replace

from tvm import tirx

from ..device import DeviceConfig
from .accesses import AccessReader, Read, Step, Write
from .bounds import implies
from .errors import CodegenError
from .linear import Atom, Linear, combine


def check_columns(func: tirx.PrimFunc, config: DeviceConfig) -> None:
    """Raise CodegenError where a scheduled function reads columns that nothing has defined, or
    reads what it writes to memory."""
    reader = AccessReader(func, config)
    reader.visit(func.body, [])
    if any(write.partial for writes in reader.writes.values() for write in writes):
        _Check(reader).run()


class _Check:
    """Compares what is read of tiles with what is defined."""

    def __init__(self, reader: AccessReader) -> None:
        self._reader = reader
        self._extents = reader.extents
        self._writes = {tile: list(writes) for tile, writes in reader.writes.items()}

    def run(self) -> None:
        """Raises CodegenError."""
        for step in self._reader.steps:
            self._inputs(step)
            self._sums(step)
        for read in self._reader.reads:
            for write in self._writes.get(read.tile, ()):
                given, partial = self._seen(write, read)
                if not all(implies(given, form, self._extents) for form in partial):
                    raise CodegenError(
                        f"`{read.where.text}` takes columns of tile {read.tile} that "
                        f"`{write.where.text}` leaves as they were; take only those that it "
                        "writes, by a condition on the column",
                        read.where.stmt,
                    )

    def _inputs(self, step: Step) -> None:
        """Undefined columns of A meet rows of zeros in B."""
        for write in self._writes.get(step.a.tile, ()):
            given, partial = self._seen(write, step.a)
            for weights in self._writes.get(step.b.tile, ()):
                if not partial or weights.is_zero:
                    continue
                rows, _ = self._seen(weights, step.b)
                if not all(implies([*given, *rows], form, self._extents) for form in partial):
                    raise CodegenError(
                        f"a step reads columns of tile {step.a.tile} that "
                        f"`{write.where.text}` leaves as they were, and multiplies them by rows "
                        f"of tile {step.b.tile} that are not zero; give `{weights.where.text}` "
                        "the same condition on its rows",
                        step.a.where.stmt,
                    )

    def _sums(self, step: Step) -> None:
        """Undefined columns of B make such columns of the sums."""
        for weights in self._writes.get(step.b.tile, ()):
            given, partial = self._seen(weights, step.b)
            if partial:
                where = replace(step.c.where, stmt=weights.where.stmt)
                write = Write(step.c.at, partial, given, False, where)
                self._writes.setdefault(step.c.tile, []).append(write)

    def _solved(self, mine: Linear, other: Linear) -> dict[int, Linear]:
        """The values of the loops of an index, `16 * block + column`, for which it is another one;
        none where several values give the same index."""
        rest, reached = other - mine.const, 1
        values: dict[int, Linear] = {}
        for key, factor in sorted(mine.items, key=lambda item: item[1]):
            if isinstance(key, Atom) or factor != reached:
                return {}
            reached *= self._extents[key]
            values[key] = rest
            if len(values) < len(mine.items):
                extent = Linear(self._extents[key])
                values[key] = combine("floormod", rest, extent)
                rest = combine("floordiv", rest, extent)
        return values

    def _seen(self, write: Write, read: Read) -> tuple[list[Linear], list[Linear]]:
        """What is known of an element that is read and is not in a row of zeros, and the forms
        that tell whether it is defined, in the loops of what reads it."""
        known: dict[int, Linear] = {}
        for mine, other in zip(write.at, read.at, strict=True):
            for loop_id, value in self._solved(mine, other).items():
                known.setdefault(loop_id, value)
        forms = [*write.partial, *write.zero_below, *write.given]
        for loop_id in set().union(*(form.variables() for form in forms)) - known.keys():
            # Of a loop around both the same iteration, if that writes all before it is read.
            around_both = loop_id in write.where.loops & read.where.loops
            again = any(form.depends_on(loop_id) for form in write.at)
            if not around_both or again or write.where.order > read.where.order:
                known[loop_id] = self._reader.fresh(self._extents[loop_id])
        given = [form.substitute(known) for form in (*write.zero_below, *write.given)]
        return [*read.given, *given], [form.substitute(known) for form in write.partial]
