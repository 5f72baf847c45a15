"""What is known of costs on a device that says nothing of them: what its programs are made of.

Tiles are compared by the rows that they move into its memories and out of them, a row a cycle:
enough to begin with, for the simulator decides. Programs are told apart by their commands, by what
these touch, and by what they ask of the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from .device import DeviceConfig, kind_of
from .device.cost import Cost, TileCost, Work
from .device_api import HostCost, command_counts, host_cost
from .program import Program
from .schedule_rules.tile_counts import TileCounts
from .topi import Operator
from .topi.mac_operator import MacOperator
from .topi.mac_shape import Sizes
from .topi.pool_operator import PoolOperator

_ARGUMENTS = 5  # of a kernel at most, as far as features tell them apart


class NeutralCost(Cost):
    """Of any kind of device."""

    looks: ClassVar[int] = 32  # the simulator has to tell what the estimates do not

    def tiles(self, operator: Operator, config: DeviceConfig) -> TileCost:
        """Raises TypeError for an operator that has neither kind of tiles."""
        if isinstance(operator, PoolOperator):
            return _PoolTiles(operator, config)
        if isinstance(operator, MacOperator):
            return _MacTiles(operator, config)
        raise TypeError(f"{operator.name}: {type(operator).__name__} has no tiles")

    def work(self, program: Program, operator: Operator) -> Work:
        commands, data = kind_of(program.config).commands, program.to_bytes()
        counts = command_counts(data, commands.numbers)
        return CommandCounts(
            {cls.mnemonic: n for cls, n in zip(commands.classes, counts.classes, strict=True)},
            counts.arguments,
            counts.iterations,
            counts.operand_steps,
            counts.sure,
            sum(arg.nbytes for arg in program.args),
            host_cost(data),
            program.config,
        )

    def least_cycles(self, operator: Operator, config: DeviceConfig) -> int:
        """All multiply-accumulates at the peak."""
        return max(1, operator.macs // config.peak_macs)


class _MacTiles(TileCost):
    def __init__(self, operator: MacOperator, config: DeviceConfig) -> None:
        self._shape = operator.mac_shape(config)

    def cycles(self, structure: Any, tile: Sizes) -> np.ndarray:
        shape = self._shape
        counts = TileCounts.of(shape, structure, tile)
        inputs, weights = shape.a_rows(shape.loaded(structure, tile)), shape.b_rows(tile)
        weights_stay = structure.kept and structure.tiles == "weights_kept"
        inputs_stay = structure.kept and not weights_stay
        loads = (counts.kept if inputs_stay else counts.parts) * inputs
        loads = loads + (counts.kept if weights_stay else counts.parts) * weights
        sums = shape.c_rows(tile)
        steps = counts.parts * weights // shape.dim * (sums // tile["blocks"])
        return _overlapped(
            structure.pipelined,
            inputs + weights + sums,
            loads,
            steps,
            counts.tiles * sums * shape.outputs.element_bytes,
        )

    def least_cycles(self, structure: Any, tile: Sizes) -> float:
        return 0


class _PoolTiles(TileCost):
    def __init__(self, operator: PoolOperator, config: DeviceConfig) -> None:
        self._shape = operator.pool_shape(config)

    def cycles(self, structure: Any, tile: Sizes) -> np.ndarray:
        shape, stored = self._shape, prod(tile.values())
        tiles = shape.n * shape.blocks * shape.out_h * shape.out_w // stored
        loaded, stored = shape.image_rows(tile), stored * shape.rows
        windows = stored * shape.size**2
        if shape.matrices:
            steps = 2 * windows + stored  # products, maxima, where these begin
            parts = tiles * loaded, tiles * steps, tiles * stored
            return _overlapped(structure, loaded + steps + stored, *parts)
        return _overlapped(structure, loaded + stored, tiles * loaded, tiles * windows)

    def least_cycles(self, structure: Any, tile: Sizes) -> float:
        return 0


def _overlapped(pipelined: bool, tile_rows: Any, *rows: Any) -> np.ndarray:
    """Cycles of parts of a device that move so many rows each, one after the other or, but for a
    tile, side by side."""
    parts = np.broadcast_arrays(*rows)
    busy = np.maximum.reduce(parts) + tile_rows if pipelined else sum(parts)
    return np.asarray(busy, dtype=float)


@dataclass(frozen=True)
class CommandCounts(Work):
    """Commands by how often they run, as far as that is likely.

    mnemonics : by the kind of command, in the order of the device's command set.
    arguments : by the argument that a command has the address of.
    operand_steps : additions to words that run along loops.
    sure : commands that run in any case.
    argument_bytes : of all arguments together.
    """

    mnemonics: Mapping[str, int]
    arguments: tuple[int, ...]
    iterations: int
    operand_steps: int
    sure: int
    argument_bytes: int
    host: HostCost
    config: DeviceConfig

    @property
    def least_cycles(self) -> int:
        """The host hands over one command after another."""
        return max(1, self.sure * self.config.host_cycles_per_command)

    def features(self) -> np.ndarray:
        """Logarithms of the counts, and each kind of command's share."""
        counts = [*self.mnemonics.values(), *self.arguments[:_ARGUMENTS]]
        counts += [0] * (_ARGUMENTS - len(self.arguments))
        counts += [self.iterations, self.operand_steps, self.argument_bytes]
        host = self.host
        counts += [host.instructions, host.loop_bytes, host.once_bytes, host.once_cycles]
        commands = max(1, sum(self.mnemonics.values()))
        shares = [count / commands for count in self.mnemonics.values()]
        return np.concatenate([np.log2(1 + np.array(counts, dtype=float)), shares])


COST = NeutralCost()
