"""A layer's program, run once on the simulated device for what there is to show of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import tvm

from ..device import DeviceConfig, kind_of
from ..device_api import create_module, host_cost, last_stats
from ..device_api.profile import profile_program
from ..program import Program
from .slices import SliceKeeper


@dataclass(frozen=True)
class Run:
    """A run with cold caches.

    counts : what was done, by name: the numbers of `LaunchStats`, and those that it names.
    host_cycles : that the host needs for itself, if it never waits.
    breakdown : cycles by reason, empty for a kind of device that tells none.
    slices : over time, with the fields of `sim.timeline.Slice`; None where there are none.
    cut_at : the cycle from which on slices are missing, None if none are.
    """

    counts: Mapping[str, int]
    host_cycles: int
    breakdown: Mapping[str, int] = field(default_factory=dict)
    slices: np.ndarray | None = None
    cut_at: int | None = None

    @property
    def cycles(self) -> int:
        """From the first command to the fence."""
        return self.counts["cycles"]


def run(program: Program) -> Run:
    """Run a program on zeros: cycles do not depend on values."""
    config = program.config
    places = [np.zeros(arg.shape, arg.dtype) for arg in program.args]
    tensors = [tvm.runtime.tensor(array) for array in places]
    packed = program.to_bytes()
    if not kind_of(config).profile.reasons:
        create_module({program.name: packed})[program.name](*tensors)
        stats = last_stats()
        assert stats is not None
        instructions = host_cost(packed).instructions
        return Run(_counts(asdict(stats)), _host_cycles(config, stats.commands, instructions))
    keeper = SliceKeeper()
    [profile] = profile_program(packed, tensors, receiver=keeper.receive)
    host_cycles = _host_cycles(config, profile.commands, profile.host_instructions)
    return Run(
        _counts(asdict(profile)),
        host_cycles,
        profile.parts["breakdown"],
        keeper.slices,
        keeper.cut_at,
    )


def _counts(fields: Mapping[str, Any]) -> dict[str, int]:
    own = {name: value for name, value in fields.items() if isinstance(value, int)}
    return {**own, **fields["named"]}


def _host_cycles(config: DeviceConfig, commands: int, instructions: int) -> int:
    """Without the waits for lines of code and for branches that go another way."""
    others = max(0, instructions - commands)
    return commands * config.host_cycles_per_command + others * config.host_cycles_per_instruction
