"""What a default schedule was chosen to be, and its JSON form."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tvm.s_tir import Schedule

from ..device import DeviceConfig
from ..topi.mac_structure import MacStructure
from ..topi.routed import take_route
from .template_tilings import TemplateTiling
from .tilings import Tiling


@dataclass(frozen=True)
class RouteTaken:
    """A route of the device's, by its name."""

    name: str

    def apply(self, sch: Schedule, config: DeviceConfig) -> None:
        """Have the operator's definition computed so, in place."""
        take_route(sch, self.name)


Choice = Tiling | TemplateTiling | RouteTaken


def to_json(choice: Choice) -> dict[str, Any]:
    """It as plain JSON values."""
    if isinstance(choice, RouteTaken):
        return {"route": choice.name}
    if isinstance(choice, TemplateTiling):
        return {"trace": choice.trace}
    structure = choice.structure
    as_json = asdict(structure) if isinstance(structure, MacStructure) else structure
    return {"structure": as_json, "tiles": choice.decisions}


def of_json(data: dict[str, Any]) -> Choice:
    """The way back.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError
        for what :func:`to_json` does not make.
    """
    if "route" in data:
        return RouteTaken(data["route"])
    if "trace" in data:
        return TemplateTiling(data["trace"])
    structure = data["structure"]
    if not isinstance(structure, bool):
        structure = MacStructure(**structure)
    return Tiling(structure, {name: (count, size) for name, (count, size) in data["tiles"].items()})
