"""What one device of a sweep takes for the network, and the file that keeps it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..checked_files import read_checked, write_checked
from ..device import DeviceConfig
from ..partition import Partitioned
from ..tuning.errors import TuningError
from ..tuning.report import LayerResult
from .devices import Point

_FORMAT = 3


@dataclass(frozen=True)
class LayerCycles:
    """One run of a layer that a network has `count` times: by its default schedule, and by the best
    one that is known. `macs` of one run, with those of what it is padded with."""

    name: str
    count: int
    macs: int
    default_cycles: int
    cycles: int


def layer_cycles(results: Sequence[LayerResult]) -> tuple[LayerCycles, ...]:
    """Of what was measured."""
    return tuple(
        LayerCycles(
            each.layer.name, each.layer.count, each.layer.macs, each.default_cycles, each.cycles
        )
        for each in results
    )


@dataclass(frozen=True)
class DeviceResult:
    """What a device of a sweep takes for the network's layers, or why it cannot run it.

    numbers : that were varied, by name.
    macs : the network's multiply-accumulates that are the device's, without those of padding; the
        host has the others.
    host_operations : of the network, which the device leaves to the host.
    layers : on the device; without any, `reason` says why.
    trials : how many candidates were asked for; 0 where only default schedules were measured.
    """

    name: str
    numbers: Mapping[str, int]
    area_mm2: float
    clock_khz: int
    peak_macs: int
    macs: int = 0
    host_operations: int = 0
    layers: tuple[LayerCycles, ...] = ()
    reason: str = ""
    trials: int = 0

    @classmethod
    def of(
        cls,
        config: DeviceConfig,
        point: Point,
        partitioned: Partitioned,
        results: Sequence[LayerResult],
    ) -> DeviceResult:
        """From what was measured of a network's layers on the device."""
        return replace(
            cls.unable(config, point, ""),
            macs=sum(region.macs for region in partitioned.regions),
            host_operations=sum(each.region is None for each in partitioned.decisions),
            layers=layer_cycles(results),
        )

    @classmethod
    def unable(cls, config: DeviceConfig, point: Point, reason: str) -> DeviceResult:
        """Of a device that cannot run the network, and why."""
        return cls(
            config.name,
            dict(point.numbers),
            point.area_mm2,
            config.clock_khz,
            config.peak_macs,
            reason=reason,
        )

    def by_default(self) -> DeviceResult:
        """The same as if nothing had been tuned."""
        layers = tuple(replace(layer, cycles=layer.default_cycles) for layer in self.layers)
        return replace(self, layers=layers, trials=0)

    @property
    def cycles(self) -> int:
        """Of all layers by their best known schedules, each alone, added up."""
        return sum(layer.count * layer.cycles for layer in self.layers)

    @property
    def default_cycles(self) -> int:
        """The same by default schedules."""
        return sum(layer.count * layer.default_cycles for layer in self.layers)

    @property
    def milliseconds(self) -> float:
        return self.cycles / self.clock_khz

    @property
    def utilization(self) -> float:
        """Share of the array's peak that works on the network's own numbers, 0 to 1."""
        return self.macs / (self.cycles * self.peak_macs) if self.cycles else 0.0

    def to_json(self) -> dict[str, Any]:
        """Everything, sums too, for machines."""
        return {
            **asdict(self),
            "default_cycles": self.default_cycles,
            "cycles": self.cycles,
            "milliseconds": self.milliseconds,
            "utilization": self.utilization,
        }


class ResultFiles:
    """A folder with two files for each device that is done: what it takes, and the device itself,
    which `registry.load` reads.

    asked : what else the cycles depend on than the device: a file that was made otherwise belongs
        to another sweep.
    """

    def __init__(self, folder: Path, asked: Mapping[str, Any]) -> None:
        self._folder = folder
        self._asked = dict(asked)

    def check_can_write(self) -> None:
        """Make the folder. Raises TuningError where it cannot be written."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(prefix=".npu-check-", dir=self._folder):
                pass
        except OSError as error:
            raise TuningError(f"{self._folder} cannot be written: {error.strerror}") from error

    def load(self, config: DeviceConfig) -> DeviceResult | None:
        """What is known of a device; None for nothing, also where a file is damaged.

        Raises TuningError for a file of another sweep, which must not be lost.
        """
        path = self._path(config)
        try:
            content = read_checked(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TuningError(f"{path} cannot be read: {error.strerror}") from error
        if content is None:
            return None
        saved = json.loads(content)
        if saved["made_of"] != self._made_of(config):
            raise TuningError(
                f"{path} was made by another sweep, of another device, network or version; give "
                "another -o"
            )
        layers = tuple(LayerCycles(**layer) for layer in saved["result"].pop("layers"))
        return DeviceResult(**saved["result"], layers=layers)

    def save(self, config: DeviceConfig, result: DeviceResult) -> None:
        """Raises TuningError where the file cannot be written."""
        saved = {"made_of": self._made_of(config), "result": asdict(result)}
        content = json.dumps(saved, indent=1).encode()
        path = self._path(config)
        try:
            write_checked(path, content)
            config.save(path.with_suffix(".json"))
        except OSError as error:
            raise TuningError(f"{path} cannot be written: {error.strerror}") from error

    def _made_of(self, config: DeviceConfig) -> dict[str, Any]:
        return {"format": _FORMAT, "device_hash": config.hash, **self._asked}

    def _path(self, config: DeviceConfig) -> Path:
        return self._folder / f"{config.name}.result"
