"""The ways that data take between a device and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A way whose width bounds how fast a program can be.

    title : in words.
    read, written : the counts of a run, bytes, that go over it (a field of `LaunchStats`, or one of
        its `named`).
    bytes_per_cycle : that it carries at most, each way or, where it `is_shared`, both together.
    """

    title: str
    read: str
    written: str
    bytes_per_cycle: float
    is_shared: bool = False

    def bytes(self, counts: Mapping[str, int]) -> int:
        """What a run has to wait for: of both ways the busier one, or their sum where they share
        one. Raises KeyError for a run that does not count them."""
        ways = counts[self.read], counts[self.written]
        return sum(ways) if self.is_shared else max(ways)

    def cycles(self, counts: Mapping[str, int]) -> float:
        """That no run with these counts is below."""
        return self.bytes(counts) / self.bytes_per_cycle
