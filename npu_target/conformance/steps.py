"""The steps of bringing up a device, as the suite's files are named for them."""

from __future__ import annotations

import re
from typing import NamedTuple


class Step(NamedTuple):
    """A step of a port: its place, what it is called, and what it needs."""

    number: int
    title: str
    needs: str

    @property
    def message(self) -> str:
        """What is said where a port has not come further."""
        step = f"step {self.number}, {self.title}, is not done yet"
        return f"{step}: {self.needs}; docs/porting.md says how"


STEPS = (
    Step(1, "the manifest", "a config, presets and a DeviceKind behind an entry point"),
    Step(2, "commands", "classes whose fields say their bits and limits, in a CommandSet"),
    Step(3, "programs", "a simulator, so that a program file can be launched"),
    Step(4, "operators", "copies and steps that become commands, or routes, and the numbers"),
    Step(5, "networks", "operators that take a network's regions, the rest on the host"),
    Step(6, "tuning", "schedules to search, cycles that tell them apart, logs that rebuild"),
)
_FILE = re.compile(r"test_step(\d+)_")


def step_of(file: str) -> Step | None:
    """The step that the tests of a file are about, None for a file that is none of the suite's."""
    found = _FILE.search(file)
    return STEPS[int(found[1]) - 1] if found else None
