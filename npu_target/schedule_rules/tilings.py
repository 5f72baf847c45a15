"""The tilings of an operator that fit a device, with about what each costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from tvm.s_tir import Schedule

from ..device import DeviceConfig, kind_of
from ..topi.blocking import divisors
from ..topi.mac_operator import MacOperator
from ..topi.mac_schedule import mac_loops, schedule_mac
from ..topi.mac_shape import TILED, MacShape, Sizes
from ..topi.mac_structure import MacStructure, tiled_loops
from ..topi.pool_operator import PoolOperator, PoolShape
from ..topi.pool_schedule import POOLED, schedule_pool
from .space import structures

# How far apart structures are that differ in one thing, next to tiles of twice the size: tiles
# tell more of what a schedule costs.
_STRUCTURE_DISTANCE = 0.3


@dataclass(frozen=True)
class Tilings:
    """Points of an operator's space: ``sizes`` of the tiles by the names of ``loops``, int64
    ``[n, len(loops)]``, out of ``extents``; each in the structure of which ``structure`` has the
    index."""

    loops: tuple[str, ...]
    extents: tuple[int, ...]
    structures: Sequence[MacStructure | bool]  # of a pool: whether it is pipelined
    structure: np.ndarray
    sizes: np.ndarray
    estimates: np.ndarray

    @property
    def positions(self) -> np.ndarray:
        """Where the points lie: a step for each doubling of a tile size."""
        traits = np.array([_traits(structure) for structure in self.structures], dtype=float)
        return np.hstack(
            [np.log2(self.sizes), _STRUCTURE_DISTANCE * traits[self.structure]],
        )

    def __getitem__(self, index: int) -> Tiling:
        decisions = {
            name: (extent // int(size), int(size))
            for name, extent, size in zip(self.loops, self.extents, self.sizes[index], strict=True)
        }
        return Tiling(self.structures[self.structure[index]], decisions)


@dataclass(frozen=True)
class Tiling:
    """A point: its structure (of a pool, whether it is pipelined), and by loop how many tiles
    there are and of which size."""

    structure: MacStructure | bool
    decisions: dict[str, tuple[int, int]]

    def with_structure(self, **traits: Any) -> Tiling:
        """The same in a structure with these traits; of a pool the same."""
        if not isinstance(self.structure, MacStructure):
            return self
        return replace(self, structure=replace(self.structure, **traits))

    def apply(self, sch: Schedule, config: DeviceConfig) -> None:
        """Schedule the operator's definition for a device so, in place."""
        decisions = {name: list(pair) for name, pair in self.decisions.items()}
        if isinstance(self.structure, MacStructure):
            schedule_mac(sch, self.structure, decisions)
        else:
            schedule_pool(sch, config.memories, self.structure, decisions)


def mac_tilings(
    sch: Schedule, operator: MacOperator, shape: MacShape, config: DeviceConfig
) -> Tilings:
    """Those of a multiply-accumulate; ``sch`` has its definition.  The smallest tiles alone where
    nothing fits."""
    loops = mac_loops(sch)
    # Whether weights are packed makes little difference: it is for the caller to look at.  Of
    # halves and of orders of commands the estimates know nothing.
    others = ("packed", "halved", "ends", "in_order")
    found = [
        structure
        for structure in structures(sch, operator, config)
        if not any(getattr(structure, trait) for trait in others)
    ]
    extents = tuple(shape.extent(name) for name in TILED)
    cost = kind_of(config).cost.tiles(operator, config)
    parts = []
    for index, structure in enumerate(found):
        tiled = tiled_loops(loops, structure)
        options = [
            divisors(extent) if name in tiled else [extent]
            for name, extent in zip(TILED, extents, strict=True)
        ]
        sizes = _grid(options)
        tile = dict(zip(TILED, sizes.T, strict=True))
        sizes = sizes[shape.fits(structure, tile, config) & _is_first(shape, structure, tile)]
        if len(sizes):
            tile = dict(zip(TILED, sizes.T, strict=True))
            cycles = np.broadcast_to(cost.cycles(structure, tile), len(sizes))
            parts.append(_taken(index, sizes, cycles))
    return _tilings(TILED, extents, found, parts)


def _is_first(shape: MacShape, structure: MacStructure, tile: Sizes) -> np.ndarray:
    """Whether tiles in a structure stand for those in others that give the same program."""
    steps_matter, tiles_matter = shape.orders_matter(structure, tile)
    steps_first = structure.step_order == "blocks_first"
    tiles_first = structure.tiles == "weights_kept"
    return (steps_matter | steps_first) & (tiles_matter | tiles_first)


def pool_tilings(operator: PoolOperator, shape: PoolShape, config: DeviceConfig) -> Tilings:
    """Those of a pooling operator."""
    extents = (shape.n, shape.blocks, shape.out_h, shape.out_w)
    sizes = _grid([divisors(extent) for extent in extents])
    tile = dict(zip(POOLED, sizes.T, strict=True))
    cost = kind_of(config).cost.tiles(operator, config)
    parts = []
    for index, pipelined in enumerate((True, False)):
        fits = shape.fits(pipelined, tile, config)
        parts.append(_taken(index, sizes[fits], cost.cycles(pipelined, tile)[fits]))
    return _tilings(POOLED, extents, (True, False), parts)


def _taken(
    index: int, sizes: np.ndarray, cycles: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the tiles in the structure of an index, those that the device's commands can take."""
    taken = np.isfinite(cycles)
    return np.full(taken.sum(), index), sizes[taken], cycles[taken]


def _tilings(
    loops: tuple[str, ...],
    extents: tuple[int, ...],
    found: Sequence[MacStructure | bool],
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> Tilings:
    if not any(len(sizes) for _, sizes, _ in parts):
        parts = [(np.zeros(1, int), np.ones((1, len(loops)), int), np.ones(1))]
    index, sizes, estimates = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Tilings(loops, extents, found, index, sizes, estimates.astype(float))


def _grid(options: Sequence[Sequence[int]]) -> np.ndarray:
    """All combinations of one option each, int64 ``[n, len(options)]``."""
    return np.stack(np.meshgrid(*options, indexing="ij"), axis=-1).reshape(-1, len(options))


def _traits(structure: MacStructure | bool) -> list[bool]:
    if not isinstance(structure, MacStructure):
        return [structure]
    return [
        value if isinstance(value, bool) else value in ("weights_kept", "blocks_first")
        for value in astuple(structure)
    ]
