"""What schedules and programs cost on a device, told without running them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from .config import DeviceConfig

if TYPE_CHECKING:
    import numpy as np

    from ..program import Program
    from ..topi import Operator
    from ..topi.mac_shape import Sizes


class TileCost(ABC):
    """What the tiles of one operator cost, told from a structure of its schedules (a
    `MacStructure`; of a pool, whether it is pipelined) and tile sizes by the names of the loops."""

    @abstractmethod
    def cycles(self, structure: Any, tile: Sizes) -> np.ndarray:
        """About how many cycles the whole operator takes, positive, one for each of many tiles
        whose sizes are arrays; infinite for tiles that the device's commands cannot take."""

    @abstractmethod
    def least_cycles(self, structure: Any, tile: Sizes) -> float:
        """Cycles that no program with a tile of these sizes (numbers) is below."""


class Work(ABC):
    """What a program does, told from its loops."""

    @property
    @abstractmethod
    def least_cycles(self) -> int:
        """Cycles that no run of the program is below, at least 1."""

    @abstractmethod
    def features(self) -> np.ndarray:
        """What a cost model sees of the program: a row of numbers, as many for all programs of a
        kind of device."""


class Cost(ABC):
    """What things cost on the devices of one kind.

    looks : how many schedules are compiled to find a default one, those first that `tiles` says are
        the cheapest.
    """

    looks: ClassVar[int] = 24

    @abstractmethod
    def tiles(self, operator: Operator, config: DeviceConfig) -> TileCost:
        """For the schedules of a multiply-accumulate, or of a pool; of others nobody asks."""

    @abstractmethod
    def work(self, program: Program, operator: Operator) -> Work:
        """The work of a program that computes `operator`."""

    @abstractmethod
    def least_cycles(self, operator: Operator, config: DeviceConfig) -> int:
        """Cycles that no schedule of an operator can go below, at least 1."""
