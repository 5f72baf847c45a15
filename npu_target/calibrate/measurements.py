"""What was measured so far, in a file that can be gone on with and fitted to again.

JSON: `format`; `command`, which measured; `experiments`, each with its `group`, its `program` (the
file of one, compressed, in base 64) and the `cycles` of its runs. A program carries the device that
it was made for.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..device import DeviceConfig
from ..files import Pathish, write_atomically
from ..program import Program, ProgramError
from .errors import CalibrationError
from .experiments import Experiment

FORMAT = "npu_target.calibrate/1"


@dataclass
class Measurements:
    """Experiments and the cycles of each one's runs, both in the same order.

    command : what measured them, as options of the command line.
    """

    command: str
    experiments: Sequence[Experiment]
    cycles: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.cycles:
            self.cycles = [[] for _ in self.experiments]

    @property
    def config(self) -> DeviceConfig:
        """The device that the programs were made for."""
        return self.experiments[0].program.config

    @property
    def runs(self) -> int:
        return sum(map(len, self.cycles))

    def measured(self) -> list[tuple[Experiment, float]]:
        """The experiments that have run, each with the median of its cycles."""
        return [
            (experiment, float(np.median(cycles)))
            for experiment, cycles in zip(self.experiments, self.cycles, strict=True)
            if cycles
        ]

    def spread(self) -> float | None:
        """What runs of an experiment differ by, as a share of its cycles: the median of all that
        ran more than once, None where none did."""
        spreads = [
            (max(cycles) - min(cycles)) / float(np.median(cycles))
            for cycles in self.cycles
            if len(cycles) > 1
        ]
        return float(np.median(spreads)) if spreads else None

    def save(self, path: Pathish) -> None:
        """Write them beside `path` and rename them into place. Raises OSError."""
        experiments = [
            {"group": experiment.group, "program": _packed(experiment.program), "cycles": cycles}
            for experiment, cycles in zip(self.experiments, self.cycles, strict=True)
        ]
        text = {"format": FORMAT, "command": self.command, "experiments": experiments}
        write_atomically(path, (json.dumps(text, indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: Pathish) -> Measurements:
        """Read what `save` wrote. Raises CalibrationError for anything else, OSError when it cannot
        be read."""
        try:
            text = json.loads(Path(path).read_text(encoding="utf-8"))
            if not isinstance(text, dict) or text.get("format") != FORMAT:
                raise CalibrationError(f"{path}: no measurements of {FORMAT}")
            experiments = [
                Experiment(str(one["group"]), _unpacked(one["program"], str(path)))
                for one in text["experiments"]
            ]
            cycles = [_checked(one["cycles"]) for one in text["experiments"]]
            command = str(text["command"])
        except (
            AttributeError,
            KeyError,
            ProgramError,
            RecursionError,
            TypeError,
            ValueError,  # of JSON, of base64, of texts
            zlib.error,
        ) as error:
            raise CalibrationError(f"{path}: measurements that are damaged: {error!r}") from error
        if not experiments:
            raise CalibrationError(f"{path}: there are no programs in it")
        return cls(command, experiments, cycles)


def _packed(program: Program) -> str:
    return base64.b64encode(zlib.compress(program.to_bytes(), 9)).decode()


def _unpacked(text: str, source: str) -> Program:
    return Program.from_bytes(zlib.decompress(base64.b64decode(text, validate=True)), source)


def _checked(cycles: Iterable[Any]) -> list[int]:
    found = list(cycles)
    if not all(type(number) is int and number > 0 for number in found):
        raise TypeError(f"cycles {found!r}")
    return found
