"""Where tensors lie in the one block of memory that they share, each as long as it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# A line of the caches.
LINE_BYTES = 64


@dataclass(frozen=True)
class Lifetime:
    """A tensor of so many bytes, from the call that writes it to the last one that reads it."""

    nbytes: int
    first: int
    last: int

    def overlaps(self, other: Lifetime) -> bool:
        """Whether a call needs both."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Plan:
    """`offsets` : of each tensor, a multiple of `LINE_BYTES`. `nbytes` : of the arena.
    `least_bytes` : what tensors of one call take at least; no plan needs less."""

    offsets: tuple[int, ...]
    nbytes: int
    least_bytes: int


def lines(nbytes: int, line_bytes: int = LINE_BYTES) -> int:
    """Rounded up to whole lines."""
    return -(-nbytes // line_bytes) * line_bytes


def plan(lifetimes: Sequence[Lifetime]) -> Plan:
    """Places in which no two tensors overlap that a call needs both.

    The biggest tensor first, each at the lowest gap that holds it: of two rules for equal ones,
    the one whose arena is smaller.
    """
    tries = [_placed(lifetimes, is_late) for is_late in (False, True)]
    offsets = min(tries, key=lambda found: _end(lifetimes, found))
    return Plan(tuple(offsets), _end(lifetimes, offsets), _least(lifetimes))


def _placed(lifetimes: Sequence[Lifetime], is_late: bool) -> list[int]:
    def rank(index: int) -> tuple[int, int]:
        tensor = lifetimes[index]
        return -lines(tensor.nbytes), -tensor.first if is_late else tensor.first

    offsets: dict[int, int] = {}
    for index in sorted(range(len(lifetimes)), key=rank):
        tensor = lifetimes[index]
        taken = sorted(
            (offset, offset + lines(lifetimes[other].nbytes))
            for other, offset in offsets.items()
            if tensor.overlaps(lifetimes[other])
        )
        at = 0
        for begin, end in taken:
            if begin - at >= lines(tensor.nbytes):
                break
            at = max(at, end)
        offsets[index] = at
    return [offsets[index] for index in range(len(lifetimes))]


def _end(lifetimes: Sequence[Lifetime], offsets: Sequence[int]) -> int:
    ends = (at + lines(tensor.nbytes) for at, tensor in zip(offsets, lifetimes, strict=True))
    return max(ends, default=0)


def _least(lifetimes: Sequence[Lifetime]) -> int:
    """The most that lives at one time, which is at the birth of some tensor."""
    needed = (
        sum(lines(other.nbytes) for other in lifetimes if other.first <= at <= other.last)
        for at in {tensor.first for tensor in lifetimes}
    )
    return max(needed, default=0)
