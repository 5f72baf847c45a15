"""The words for what the simulator of a kind of device tells of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class LaneKind(Enum):
    """What a slice of a timeline's lane is."""

    HOST = "host"  # the host hands over a command
    ENGINE = "engine"  # a part of the device works on a command
    TRANSFERS = "transfers"  # one of several transfers under way
    REASONS = "reasons"  # a reason for cycles


@dataclass(frozen=True)
class Lane:
    """A lane of timelines.

    thread : where it is among the others; of transfers, the first of as many as there are at once.
    """

    thread: int
    name: str
    kind: LaneKind = LaneKind.ENGINE


@dataclass(frozen=True)
class ProfileTerms:
    """Where cycles go on a kind of device, and what is seen of it over time.

    reasons : for a cycle, each with its key and in words, in the order of the simulator's numbers.
    evidence : by reason, what may have made a difference: counts of a result, or of `groups`, the
        most telling first.
    groups : commands that are counted together under a name, by their mnemonics.
    lanes : of a timeline, in the order of the simulator's numbers.
    queues : in the order of the simulator's numbers.
    """

    reasons: Mapping[str, str] = field(default_factory=dict)
    evidence: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lanes: tuple[Lane, ...] = ()
    queues: tuple[str, ...] = ()
