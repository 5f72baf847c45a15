"""What a program's cycles cannot be below: the array's, the memory's and the host's part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..device import DeviceConfig
from .runs import Run


@dataclass(frozen=True)
class Bounds:
    """Least cycles of one run, by what needs them, in order: `array`, at its peak; `memory`, each
    way to it at its width, `link` being the one that needs most; `host`, never waiting. What its
    kind of device does not say is missing."""

    cycles: Mapping[str, float]
    link: str | None

    @property
    def largest(self) -> str:
        """What needs most."""
        return max(self.cycles, key=lambda name: self.cycles[name])


def bounds(run: Run, macs: int, config: DeviceConfig) -> Bounds:
    """Of a program that computes so many multiply-accumulates."""
    cycles = {"array": macs / config.peak_macs}
    link = max(config.links, key=lambda link: link.cycles(run.counts), default=None)
    if link is not None:
        cycles["memory"] = link.cycles(run.counts)
    cycles["host"] = float(run.host_cycles)
    return Bounds(cycles, None if link is None else link.title)
