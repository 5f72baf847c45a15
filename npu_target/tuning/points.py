"""The candidates of a layer as points: a structure and its tile sizes, told apart without TVM.

A space generator gives one trace a structure, in which only tile sizes are open. Replaying a trace
takes milliseconds and compiling it tens of them; stepping from one point to the next takes none.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ..schedule_rules.traces import Structure

# Up to here a space is listed to find what is left of it.
_LISTED = 200_000
_DRAWS = 20


class Point(NamedTuple):
    """A structure by its index, and the sizes of its inner loops in order of the trace."""

    structure: int
    tiles: tuple[int, ...]


class PointLimit(NamedTuple):
    """Cycles that a point's program is not below, and what equal programs have in common."""

    least_cycles: float
    program: Hashable


class PointLimits:
    """What is known of points before they are compiled: nothing, if nobody knows the operator."""

    def of(self, point: Point) -> PointLimit | None:
        """None for a point that does not fit the device."""
        return PointLimit(0, point)


class PointSpace:
    """All points of a layer. Draws are from `generator`; what is given out once is not
    drawn again, and neither is what `limits` say is not worth it."""

    def __init__(
        self,
        structures: Sequence[Structure],
        generator: random.Random,
        limits: PointLimits | None = None,
    ) -> None:
        self.structures = list(structures)
        self._limits = limits or PointLimits()
        self._known: dict[Point, PointLimit | None] = {}
        self._programs: set[Hashable] = set()
        self._options = [structure.options for structure in self.structures]
        self._sizes = [structure.size for structure in self.structures]
        self._size_sums = list(accumulate(self._sizes))
        self._size = sum(self._sizes)
        self._generator = generator
        self._taken: set[Point] = set()
        self._too_large: dict[tuple[int, tuple[bool, ...]], list[tuple[int, ...]]] = {}

    def __len__(self) -> int:
        """Points not given out yet."""
        return self._size - len(self._taken)

    def trace(self, point: Point) -> Any:
        return self.structures[point.structure].trace(point.tiles)

    def find(self, trace: Any) -> Point | None:
        """The point of a trace in JSON form; None for a trace of another space."""
        instructions, decisions = trace
        for index, structure in enumerate(self.structures):
            if structure.instructions == instructions and len(decisions) == len(structure.sampled):
                return Point(index, tuple(decision[1] for _, decision in decisions))
        return None

    def fits(self, point: Point) -> bool:
        """Whether a point fits the device, as far as is known."""
        return self._limit(point) is not None

    def take(self, point: Point) -> bool:
        """Give out a point, unless it was already."""
        if point in self._taken:
            return False
        self._taken.add(point)
        limit = self._limit(point)
        if limit is not None:
            self._programs.add(limit.program)
        return True

    def is_open(self, point: Point, below_cycles: float = math.inf) -> bool:
        """Whether a point may be given out: it was not, nor was another with the same program; it
        fits, and may take less than so many cycles. One that may not counts as given out."""
        if point in self._taken:
            return False
        limit = self._limit(point)
        if (
            limit is None
            or limit.least_cycles >= below_cycles
            or limit.program in self._programs
            or self._is_too_large(point)
        ):
            self._taken.add(point)
            return False
        return True

    def did_not_fit(self, point: Point) -> None:
        """Points like this one, but larger, do not fit either."""
        self._too_large.setdefault(self._kind(point), []).append(point.tiles)

    def draw(self, count: int, below_cycles: float = math.inf) -> list[Point]:
        """At most `count` different random points that are open, fewer only where few are left."""
        found: dict[Point, None] = {}
        indices = range(len(self._sizes))
        listed = self._size <= _LISTED
        # Listing what is left takes no longer than as many draws do.
        for _ in range(min(_DRAWS * count, len(self)) if listed else _DRAWS * count):
            if len(found) == count:
                return list(found)
            (structure,) = self._generator.choices(indices, cum_weights=self._size_sums)
            tiles = tuple(self._generator.choice(sizes) for sizes in self._options[structure])
            point = Point(structure, tiles)
            if self.is_open(point, below_cycles):
                found[point] = None
        if not listed:
            return list(found)
        left = [point for point in self._all() if self.is_open(point, below_cycles)]
        return self._generator.sample(left, min(count, len(left)))

    def neighbours(self, point: Point, below_cycles: float = math.inf) -> list[Point]:
        """Open points that differ by one step of one tile size, or by the structure."""
        options = self._options[point.structure]
        found = []
        for place, sizes in enumerate(options):
            at = sizes.index(point.tiles[place])
            for near in (at - 1, at + 1):
                if 0 <= near < len(sizes):
                    tiles = (*point.tiles[:place], sizes[near], *point.tiles[place + 1 :])
                    found.append(Point(point.structure, tiles))
        extents = self.structures[point.structure].extents
        found += [
            Point(index, point.tiles)
            for index, structure in enumerate(self.structures)
            if structure.extents == extents
        ]
        return [near for near in found if self.is_open(near, below_cycles)]

    def _limit(self, point: Point) -> PointLimit | None:
        if point not in self._known:
            self._known[point] = self._limits.of(point)
        return self._known[point]

    def _is_too_large(self, point: Point) -> bool:
        """Whether smaller tiles of the same structure did not fit."""
        return any(
            all(ours >= theirs for ours, theirs in zip(point.tiles, tiles, strict=True))
            for tiles in self._too_large.get(self._kind(point), ())
        )

    def program(self, point: Point) -> Hashable:
        """Equal for points that are known to have the same program."""
        limit = self._limit(point)
        return point if limit is None else limit.program

    def _kind(self, point: Point) -> tuple[int, tuple[bool, ...]]:
        """What decides how much memory tiles of some size take: the structure, and which loops
        over tiles have a single iteration, since those need no second version of a tile."""
        extents = self.structures[point.structure].extents
        single = tuple(e == tile for e, tile in zip(extents, point.tiles, strict=True))
        return point.structure, single

    def _all(self) -> Iterator[Point]:
        for index, options in enumerate(self._options):
            for code in range(self._sizes[index]):
                tiles = []
                for sizes in options:
                    code, digit = divmod(code, len(sizes))
                    tiles.append(sizes[digit])
                yield Point(index, tuple(tiles))
