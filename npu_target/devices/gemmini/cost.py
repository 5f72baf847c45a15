"""What schedules and programs cost on a Gemmini."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...device import DeviceConfig
from ...device.cost import Cost, TileCost
from ...program import Program
from ...topi import Operator
from ...topi.mac_operator import MacOperator
from ...topi.mac_shape import Sizes
from ...topi.pool_operator import PoolOperator
from .config import GemminiConfig
from .pool_cost import pool_cycles
from .program_work import ProgramWork
from .tile_bound import TileBound
from .tile_cost import tile_cycles

_ITEM_BYTES = {"int8": 1, "int32": 4}


class GemminiCost(Cost):
    """Computed from a device's config alone."""

    def tiles(self, operator: Operator, config: DeviceConfig) -> TileCost:
        """Raises TypeError for an operator that has neither kind of tiles."""
        assert isinstance(config, GemminiConfig)
        if isinstance(operator, PoolOperator):
            return _PoolTiles(operator, config)
        if isinstance(operator, MacOperator):
            return _MacTiles(operator, config)
        raise TypeError(f"{operator.name}: {type(operator).__name__} has no tiles")

    def work(self, program: Program, operator: Operator) -> ProgramWork:
        return ProgramWork.of(program, operator)

    def least_cycles(self, operator: Operator, config: DeviceConfig) -> int:
        """The array at its peak, or every argument over the bus once."""
        assert isinstance(config, GemminiConfig)
        transfers = sum(prod(arg.shape) * _ITEM_BYTES[arg.dtype] for arg in operator.args)
        return max(operator.macs // config.peak_macs, transfers // config.bus_bytes, 1)


class _MacTiles(TileCost):
    def __init__(self, operator: MacOperator, config: GemminiConfig) -> None:
        self._operator, self._config = operator, config
        self._shape = operator.mac_shape(config)

    def cycles(self, structure: Any, tile: Sizes) -> np.ndarray:
        return tile_cycles(self._operator, self._shape, structure, tile, self._config)

    def least_cycles(self, structure: Any, tile: Sizes) -> float:
        bound = TileBound(self._shape, structure, tile)
        return max(bound.array_cycles(), bound.load_beats(self._config))


class _PoolTiles(TileCost):
    def __init__(self, operator: PoolOperator, config: GemminiConfig) -> None:
        self._shape, self._config = operator.pool_shape(config), config

    def cycles(self, structure: Any, tile: Sizes) -> np.ndarray:
        return pool_cycles(self._shape, structure, tile, self._config)

    def least_cycles(self, structure: Any, tile: Sizes) -> float:
        return 0


COST = GemminiCost()
