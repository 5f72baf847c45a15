"""What a kind of device has measured on hardware, to find what its owner may not know of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ..program import Program
    from ..topi import Operator


class CalibrationSet(ABC):
    """Small programs for the devices of one kind, and which fields of a config they may decide.

    fields : latencies, bandwidths and costs of the host: what an owner may not know.
    sizes : of queues and units. The generator fixes them and its user can look them up, so they
        are fitted only when asked for.
    """

    fields: ClassVar[tuple[str, ...]]
    sizes: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def programs(self, config: Any) -> Mapping[str, Sequence[Program]]:
        """Programs by the name of their group. Each is made so that few fields decide its cycles,
        and all of them together so that few fields are mistaken for others. They run for the
        config given, and on any with the same `DeviceKind.shape_fields`."""

    @abstractmethod
    def operators(self, config: Any) -> Sequence[Operator]:
        """Whose default schedules are measured too: nothing is fitted to them, they tell how far
        the fitted config is to be trusted."""
