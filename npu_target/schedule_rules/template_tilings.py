"""The default of an operator of which nothing is known but its templates: found by counting cycles
of candidates.

What has room is not told from tile sizes here, only by compiling. So the first candidate is one
large tile, halved where it is longest until it has room, and then what is next to the best one is
looked at as long as that gets better: a tile size up or down, or another template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace

from ..device import DeviceConfig
from ..topi import Operator
from .traces import Structure, trace_json

# Candidates of templates with the same loops that are looked at, at most, once one has room.
_LOOKS = 48
_Tiles = tuple[int, ...]


@dataclass(frozen=True)
class TemplateTiling:
    """A template with its tile sizes, as a trace in JSON form."""

    trace: Any

    def apply(self, sch: Schedule, config: DeviceConfig) -> None:
        """Schedule the operator's definition so, in place."""
        Trace.apply_json_to_schedule(self.trace, sch)


def cheapest_of_templates(
    sch: Schedule,
    operator: Operator,
    config: DeviceConfig,
    cost: Callable[[TemplateTiling], float | None],
) -> TemplateTiling:
    """The cheapest tiling that is found; the one with the smallest tiles where none can be used.

    Parameters
    ----------
    sch : has the operator's definition, and stays as it is.
    cost : what a tiling costs, None where it cannot be used.

    Raises
    ------
    ValueError
        for an operator without templates, and for a template that leaves anything but sizes of
        tiles open.
    """
    by_loops: dict[_Tiles, list[Structure]] = {}
    for template in operator.templates(config):
        scheduled = sch.copy()
        template(scheduled)
        structure = Structure.of(trace_json(scheduled.trace))
        by_loops.setdefault(structure.extents, []).append(structure)
    if not by_loops:
        raise ValueError(f"{operator.name}: no templates, so no default schedule")
    best: tuple[float, TemplateTiling] | None = None
    for structures in by_loops.values():
        found = _Climb(structures, cost).run()
        if found is not None and (best is None or found[0] < best[0]):
            best = found
    if best is not None:
        return best[1]
    structure = next(iter(by_loops.values()))[0]
    return TemplateTiling(structure.trace([1] * len(structure.extents)))


class _Climb:
    """A search among templates with the same loops."""

    def __init__(
        self, structures: list[Structure], cost: Callable[[TemplateTiling], float | None]
    ) -> None:
        self._structures, self._cost = structures, cost
        self._options = structures[0].options
        self._known: dict[tuple[int, _Tiles], float | None] = {}

    def run(self) -> tuple[float, TemplateTiling] | None:
        """What is cheapest, with its cost; None where nothing can be used."""
        starts = [start for index in range(len(self._structures)) for start in self._start(index)]
        if not starts:
            return None
        least, place = min(starts)
        looked = len(self._known)
        while len(self._known) - looked < _LOOKS:
            near = [(cost, at) for at in self._near(*place) if (cost := self._of(*at)) is not None]
            if not near or min(near)[0] >= least:
                break
            least, place = min(near)
        index, tiles = place
        return least, TemplateTiling(self._structures[index].trace(tiles))

    def _start(self, index: int) -> Iterator[tuple[float, tuple[int, _Tiles]]]:
        """The first tiles that can be used, from one large tile on."""
        tiles = [sizes[-1] for sizes in self._options]
        while (cost := self._of(index, tuple(tiles))) is None:
            longest = max(range(len(tiles)), key=tiles.__getitem__, default=None)
            if longest is None or tiles[longest] == 1:
                return
            half = tiles[longest] // 2
            tiles[longest] = max(size for size in self._options[longest] if size <= max(half, 1))
        yield cost, (index, tuple(tiles))

    def _near(self, index: int, tiles: _Tiles) -> Iterator[tuple[int, _Tiles]]:
        for other in range(len(self._structures)):
            if other != index:
                yield other, tiles
        for place, sizes in enumerate(self._options):
            at = sizes.index(tiles[place])
            for near in (at - 1, at + 1):
                if 0 <= near < len(sizes):
                    yield index, (*tiles[:place], sizes[near], *tiles[place + 1 :])

    def _of(self, index: int, tiles: _Tiles) -> float | None:
        key = index, tiles
        if key not in self._known:
            self._known[key] = self._cost(TemplateTiling(self._structures[index].trace(tiles)))
        return self._known[key]
