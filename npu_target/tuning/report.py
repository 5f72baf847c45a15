"""What a run tells of its layers at its end; `layer_table` shows it, JSON is for machines."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ..device import DeviceConfig
from ..device_api import HostCost
from ..files import write_atomically
from ..output import drop_output
from .errors import TuningError
from .layers import Layer

# Where a layer's schedule comes from.
TUNED = "tuned"
DEFAULT = "default"
FORCED = "forced"

# More than any table needs.
_FILE_COLUMNS = 1000


@dataclass(frozen=True)
class LayerResult:
    """A layer with its cycles for one run, by its default schedule and by its best.

    `source` is TUNED or DEFAULT, whichever the best is, or FORCED for a route that was asked for.
    `trials` is how many candidates were measured, `host` what the best asks of the host core,
    `packed` the arguments that it has packed; None where that is not known. `route` is the device's
    route that computes the layer, None for a schedule. `is_simulated` marks, where a runner's logs
    give the cycles, a layer that they do not have; `is_new` a best that no log had before this run.
    `in_sequence` has the simulated cycles of each of its runs in the network, where the caches hold
    what those before left; None where that is not known.
    """

    layer: Layer
    default_cycles: int
    cycles: int
    source: str
    trials: int | None = None
    host: HostCost | None = None
    packed: tuple[str, ...] | None = None
    route: str | None = None
    is_simulated: bool = False
    is_new: bool = False
    in_sequence: tuple[int, ...] | None = None

    def utilization(self, config: DeviceConfig) -> float:
        """Share of the array's peak, 0 to 1."""
        return self.layer.macs / (self.cycles * config.peak_macs)

    def host_columns(self) -> dict[str, float]:
        """What the host core has to do: instructions for a command on average, bytes of code in
        loops, and the share of the cycles that pass in code outside of loops, 0 to 1."""
        if self.host is None:
            return {}
        return {
            "host_instructions_per_command": self.host.instructions_per_command,
            "loop_code_bytes": self.host.loop_bytes,
            "once_share": self.host.once_cycles / max(1, self.cycles),
        }


def to_json(results: Sequence[LayerResult], config: DeviceConfig, **more: Any) -> dict[str, Any]:
    """The results as plain values; `more` goes on top."""
    return {
        "device": config.name,
        **more,
        "layers": [
            {
                "name": result.layer.name,
                "op": result.layer.operator.op,
                "count": result.layer.count,
                "macs": result.layer.macs,
                "default_cycles": result.default_cycles,
                "cycles": result.cycles,
                "utilization": result.utilization(config),
                "schedule": result.source,
                **({} if result.route is None else {"route": result.route}),
                **({"is_simulated": True} if result.is_simulated else {}),
                **({"is_new": True} if result.is_new else {}),
                **(
                    {}
                    if result.in_sequence is None
                    else {"in_sequence_cycles": list(result.in_sequence)}
                ),
                **({} if result.trials is None else {"trials": result.trials}),
                **({} if result.packed is None else {"packed": list(result.packed)}),
                **result.host_columns(),
            }
            for result in results
        ],
        "total_default_cycles": sum(r.layer.count * r.default_cycles for r in results),
        "total_cycles": sum(r.layer.count * r.cycles for r in results),
    }


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Raises TuningError where the file cannot be written."""
    try:
        write_atomically(path, (json.dumps(value, indent=2) + "\n").encode())
    except OSError as error:
        raise TuningError(f"{path} cannot be written: {error.strerror}") from error


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """The reader (`| head`) has seen enough; what is to be written to files still is. Rich ends
        the process with 1."""
        self.quiet = True
        drop_output()


def make_console() -> Console:
    """Standard output. Where it is no terminal, lines are as long as they need to be, so that names
    can be looked for in a file; COLUMNS limits them."""
    console = _Output()
    has_width = console.is_terminal or "COLUMNS" in os.environ
    return console if has_width else _Output(width=_FILE_COLUMNS)


def quantity(number: int) -> str:
    """`115.6M`, or `-` for nothing."""
    if number == 0:
        return "-"
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return str(number)
