"""What is known of a tiled multiply-accumulate from its structure and tile sizes alone: cycles that
it cannot be below, and which others give the same program.

A search looks at thousands of tilings this way in the time that compiling a few takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..device import DeviceConfig, kind_of
from ..schedule_rules import TracedDesign
from ..topi.mac_operator import MacOperator
from ..topi.mac_shape import TILED, MacShape, Sizes
from ..topi.mac_structure import MacStructure
from .points import Point, PointLimit, PointLimits


class MacPoints(PointLimits):
    """The limits of an operator's points; ``designs`` are those that the structures' traces come
    from, in their order."""

    def __init__(
        self, operator: MacOperator, config: DeviceConfig, designs: Sequence[TracedDesign]
    ) -> None:
        self._shape = shape = operator.mac_shape(config)
        self._config = config
        self._cost = kind_of(config).cost.tiles(operator, config)
        self._whole = {name: shape.extent(name) for name in TILED}
        self._designs = [(design.structure, design.tiled) for design in designs]

    def of(self, point: Point) -> PointLimit | None:
        structure, tiled = self._designs[point.structure]
        assert structure is not None
        tile = {**self._whole, **dict(zip(tiled, point.tiles, strict=True))}
        if not self._shape.fits(structure, tile, self._config):
            return None
        program = program_structure(self._shape, structure, tile)
        least_cycles = self._cost.least_cycles(structure, tile)
        return PointLimit(least_cycles, (program, tiled, point.tiles))


def program_structure(shape: MacShape, structure: MacStructure, tile: Sizes) -> MacStructure:
    """The structure that stands for all which give the same program with these tiles."""
    steps_matter, tiles_matter = shape.orders_matter(structure, tile)
    if not steps_matter:
        structure = replace(structure, step_order="blocks_first")
    if not tiles_matter:
        structure = replace(structure, tiles="weights_kept")
    return structure
