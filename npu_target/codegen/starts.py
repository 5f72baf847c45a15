"""Sums that start by being overwritten: the first step of a reduction needs no zeros to add to.

A definition without a bias sets its sums to zero first.  Where every row of zeros is next touched
by a step that begins a reduction there, the steps of its first part write instead of adding, and
the zeros are left out: they would keep the copy engine busy for about as many cycles as there are
rows, behind the stores of what was there before.  Of a reduction in several nests of steps, parts
of it that are loaded one after the other, the first one is where it begins.

That is found out by going through the function in its order, with the set of rows that are zero
because zeros were written and nothing came since.  Row sets are integers, a bit a row.  Iterations
of a loop that do the same to the same rows are gone through once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..device import Memories, Memory
from ..device.intrinsic import Access
from ..passes.copies import Store
from ..passes.linear import Atom, Linear
from ..passes.transfers import LoopExtent
from .nests import CopyNest, Nest, StepNest, Values
from .rows import form_period, mask_of
from .statements import Branch, Repeat, Sequence, Statement

# Statements to go through at most: beyond, zeros are written, which is always right.
_MOST_VISITS = 1 << 15


def overwritten_sums(parts: Iterable[Statement], memories: Memories) -> set[Nest]:
    """The zeros to leave out, and the steps that overwrite in the first part of their reduction:
    for a tile all that there are, or none."""
    accesses = _accesses(Sequence(tuple(parts)), memories.sums)
    nests: dict[str, list[Nest]] = {}
    with_zeros: set[str] = set()
    for access in _leaves(accesses):
        if access.tile is not None:
            nests.setdefault(access.tile, []).append(access.nest)
            if access.is_zeros:
                with_zeros.add(access.tile)
    if not with_zeros:
        return set()
    walk = _Walk(set(with_zeros))
    try:
        walk.run(accesses, {})
    except _TooMany:
        return set()
    return {
        nest
        for tile in walk.proved
        for nest in nests[tile]
        if walk.begins.get(nest) or (isinstance(nest, CopyNest) and nest.is_zeros)
    }


class _TooMany(Exception):
    """More statements than are worth going through."""


@dataclass
class _Access:
    """A nest that reads or writes rows of the memory of sums: ``row`` (in symbols) over ``loops``
    that change it, and those at ``row_offsets`` from there.  ``tile`` is what it writes or adds
    to, if it does."""

    nest: Nest
    tile: str | None
    row: Linear
    loops: list[LoopExtent]
    row_offsets: list[int]
    is_zeros: bool = False
    # By the form of the row without its constant: the rows counted from there, as the least of
    # them and a mask, and whether each comes once.
    _known: dict[tuple[object, ...], tuple[int, int, bool]] = field(default_factory=dict)

    def rows(self, values: Values) -> tuple[int, bool]:
        """A mask of the rows, and whether each of them comes once."""
        form = self.row.substitute(values)
        known = self._known.get(form.items)
        if known is None:
            if any(type(key) is Atom for key, _ in form.items):
                return _mask(self._enumerated(form), 0)
            known = self._known[form.items] = self._relative(form)
        first, mask, once = known
        return mask << (form.const + first), once

    def _relative(self, form: Linear) -> tuple[int, int, bool]:
        firsts = [0]
        for loop in self.loops:
            by = form.coefficient(loop.loop_id)
            firsts = [row + by * i for row in firsts for i in range(loop.extent)]
        rows = [row + offset for row in firsts for offset in self.row_offsets]
        least = min(rows)
        return least, *_mask(rows, least)

    def _enumerated(self, form: Linear) -> list[int]:
        ids = [loop.loop_id for loop in self.loops]
        return [
            form.substitute(dict(zip(ids, map(Linear, indices), strict=True))).const + offset
            for indices in itertools.product(*(range(loop.extent) for loop in self.loops))
            for offset in self.row_offsets
        ]


def _mask(rows: list[int], least: int) -> tuple[int, bool]:
    mask = mask_of(row - least for row in rows)
    return mask, mask.bit_count() == len(rows)


@dataclass
class _Loop:
    """Iterations around accesses: after ``period`` of them the same rows come again; None where
    each may be different."""

    repeat: Repeat
    period: int | None
    body: list[_Node]


@dataclass
class _Choice:
    """Accesses under a condition."""

    branch: Branch
    then: list[_Node]
    otherwise: list[_Node]


_Node = _Access | _Loop | _Choice


def _accesses(stmt: Statement, sums: Memory) -> list[_Node]:
    """What a statement does to the memory of sums."""
    if isinstance(stmt, Sequence):
        return [node for part in stmt.parts for node in _accesses(part, sums)]
    if isinstance(stmt, Repeat):
        body = _accesses(stmt.body, sums)
        return [_Loop(stmt, _period(body, stmt.symbol), body)] if body else []
    if isinstance(stmt, Branch):
        then, otherwise = _accesses(stmt.then, sums), _accesses(stmt.otherwise, sums)
        return [_Choice(stmt, then, otherwise)] if then or otherwise else []
    if isinstance(stmt, StepNest):
        step = stmt.step({})
        found: list[_Node] = []
        for operand, row, memory in zip(step.operands, step.first_rows, stmt.memories, strict=True):
            if memory == sums:
                tile = stmt.sums if operand.access is Access.ADD else None
                found.append(_access(stmt, tile, row, operand.offsets()))
        return found
    if isinstance(stmt, CopyNest) and stmt.copy.memory == sums:
        copy, offsets = stmt.copy, [0]
        if isinstance(copy, Store) and copy.pooling is not None:
            size, line_rows = copy.pooling
            offsets = [i * line_rows + j for i in range(size) for j in range(size)]
        return [_access(stmt, stmt.sums, copy.row, offsets, stmt.is_zeros)]
    return []


def _access(
    nest: Nest, tile: str | None, row: Linear, offsets: Iterable[int], is_zeros: bool = False
) -> _Access:
    loops = [loop for loop in nest.loops if row.depends_on(loop.loop_id)]
    return _Access(nest, tile, row, loops, list(offsets), is_zeros)


def _leaves(nodes: list[_Node]) -> Iterable[_Access]:
    for node in nodes:
        if isinstance(node, _Access):
            yield node
        elif isinstance(node, _Loop):
            yield from _leaves(node.body)
        else:
            yield from _leaves([*node.then, *node.otherwise])


def _period(nodes: list[_Node], symbol: int) -> int | None:
    """After how many iterations the same rows come again."""
    period = 1
    for node in nodes:
        if isinstance(node, _Access):
            own = form_period(node.row, symbol)
        elif isinstance(node, _Loop):
            own = _period(node.body, symbol)
        elif symbol in node.branch.symbols:
            own = None
        else:
            own = _period([*node.then, *node.otherwise], symbol)
        if own is None:
            return None
        period = math.lcm(period, own)
    return period


class _Walk:
    """Goes through accesses in order, with what each leaves."""

    def __init__(self, tiles: set[str]) -> None:
        self.proved = tiles  # those of which nothing speaks against it so far
        self.begins: dict[Nest, bool] = {}  # of steps, whether they begin reductions
        self._zero = dict.fromkeys(sorted(tiles), 0)  # masks of rows that wait for their start
        self._visits = 0

    def run(self, nodes: list[_Node], values: Values) -> None:
        """What nodes do in order, where the symbols of loops around have these values."""
        for node in nodes:
            if not self.proved:
                return
            if isinstance(node, _Access):
                self._visits += 1
                if self._visits > _MOST_VISITS:
                    raise _TooMany
                self._access(node, values)
            elif isinstance(node, _Loop):
                self._loop(node, values)
            else:
                self._choice(node, values)

    def _loop(self, loop: _Loop, values: Values) -> None:
        repeat = loop.repeat
        done, before = 0, None
        while done < repeat.extent:
            if loop.period is not None and done % loop.period == 0:
                state = tuple(self._zero.values()), len(self.proved)
                if state == before:  # and so it will be each time
                    done += (repeat.extent - done) // loop.period * loop.period
                    before = None
                    continue
                before = state
            index = Linear(repeat.start + done)
            self.run(loop.body, {**values, repeat.symbol: index})
            done += 1

    def _choice(self, choice: _Choice, values: Values) -> None:
        holds = choice.branch.holds(values)
        if holds is None:
            for access in _leaves([*choice.then, *choice.otherwise]):
                self.proved.discard(str(access.tile))
                self._touch(-1, None)
        else:
            self.run(choice.then if holds else choice.otherwise, values)

    def _access(self, access: _Access, values: Values) -> None:
        rows, once = access.rows(values)
        tile = access.tile
        zero = self._zero.get(tile, 0) if tile is not None else 0
        if isinstance(access.nest, StepNest) and tile in self._zero:
            begins = bool(rows & zero)  # and goes on with one where no row of it waits
            is_known = self.begins.setdefault(access.nest, begins) == begins
            if not is_known or (begins and (rows & ~zero or not once)):
                self.proved.discard(tile)
            self._zero[tile] = zero & ~rows
        elif access.is_zeros and tile is not None:
            self._zero[tile] = zero | rows
        else:
            tile = None
        self._touch(rows, tile)

    def _touch(self, rows: int, mine: str | None) -> None:
        """Rows are read or written by something that is no zeros and no step of a tile."""
        for tile, zero in self._zero.items():
            if tile != mine and zero & rows:
                self.proved.discard(tile)
