"""Weaving: copies of another tile go into the gaps between this tile's array steps.

A queue of the device holds a few loads only; the ninth load in a row blocks the host until the
first is done, and the array runs dry behind it.  Between the array's steps the same loads find
the queue empty and overlap with all of the tile's work, not just with its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from itertools import groupby, product
from math import ceil
from operator import itemgetter
from typing import NamedTuple

from .config import NpuConfig
from .isa import LOADS, Mvout, decode
from .operand import Operand
from .passes.linear import Linear
from .passes.memory import Placement
from .program import Command, Filler, Loop, Node, Weave
from .program_rows import COPIES, without_row
from .topi.blocking import ceil_div

# A preload and a compute belong together.
_STEP_COMMANDS = 2
# The last copies should be done, not merely issued, when the next tile needs them.
SPREAD_OVER = 15 / 16
# A copy of a few bytes waits for its turn as well; what leaves the accumulator passes the scaling.
_LEAST_CYCLES = 16
_STORE_CYCLES_PER_ROW = 3.2
_START_CYCLES_PER_ROW = 1.25
# The first word of a copy that writes zeros.
_NOTHING = Operand()


class Touched(NamedTuple):
    """A version of a tile that a statement reads or writes."""

    tile: Placement
    version: Linear

    def conflicts(self, other: Touched) -> bool:
        """Whether both may touch the same rows; tiles may share them, one after the other."""
        apart = self.version - other.version
        if self.tile == other.tile and apart.is_const:
            return apart.const == 0
        return self.tile.overlaps(other.tile)


class WaitingCopy:
    """A copy that is made when it is issued: often only what waits matters, not its commands."""

    def __init__(self, touched: list[Touched], make: Callable[[], tuple[Node, ...]]) -> None:
        self.touched = touched
        self._make = make

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The commands."""
        return self._make()


class WaitingCopies:
    """Copies that wait for array steps to be woven into, in the order of the program.  A
    statement that touches the same rows must come after them."""

    def __init__(self, copies: Iterable[WaitingCopy] = ()) -> None:
        self._copies = list(copies)

    def __bool__(self) -> bool:
        return bool(self._copies)

    def add(self, copy: WaitingCopy) -> None:
        """One more at the end."""
        self._copies.append(copy)

    def copy(self) -> WaitingCopies:
        """The same copies, to be taken one by one."""
        return WaitingCopies(self._copies)

    def replace(self, other: WaitingCopies) -> None:
        """Hold what the other one holds."""
        self._copies = list(other._copies)

    def release(self, touched: list[Touched]) -> WaitingCopies:
        """The copies that must be issued before a statement that touches these tiles: those that
        touch the same rows, and those before them that those have to follow."""
        rows, kept, released = list(touched), [], []
        for copy in reversed(self._copies):
            if _conflict(copy.touched, rows):
                released.append(copy)
                rows += copy.touched
            else:
                kept.append(copy)
        self._copies = kept[::-1]
        return WaitingCopies(released[::-1])

    def take(self) -> WaitingCopies:
        """All of them."""
        taken, self._copies = self._copies, []
        return WaitingCopies(taken)

    def nodes(self) -> tuple[Node, ...]:
        """The commands of all."""
        return tuple([node for copy in self._copies for node in copy.nodes])


def weave(body: tuple[Node, ...], filling: tuple[Node, ...], config: NpuConfig) -> tuple[Node, ...]:
    """``body`` with the commands of ``filling`` spread over most of it, each with as many steps
    behind it as the device may be busy with it."""
    steps = count_commands(body) // _STEP_COMMANDS
    costs = [estimate(node, config) for node in filling]
    total = sum(cost.cycles for cost in costs)
    if not steps or not total:
        return (*filling, *body)
    commands = steps * _STEP_COMMANDS * SPREAD_OVER
    paces = []
    for cost in costs:
        gap = commands * cost.cycles / total / max(1, cost.commands)
        paces.append((max(1, int(gap)), max(1, ceil(1 / gap)) if gap else 1))
    fillers = [
        Filler(tuple([node for node, _ in alike]), *pace)
        for pace, alike in groupby(zip(filling, paces, strict=True), itemgetter(1))
    ]
    return (Weave(body, tuple(fillers)),)


class Cost(NamedTuple):
    """Commands of a copy, and about how many cycles they keep the device's copy engine."""

    commands: float
    cycles: float


def estimate(node: Node, config: NpuConfig) -> Cost:
    """What a copy costs: loops whose extent is not known are taken once, sizes that run as what
    they start from, and data as coming from the memory behind the cache."""
    if isinstance(node, Command):
        word, is_zeros = without_row(node.rs2.base), node.rs1 == _NOTHING
        return Cost(1, max(_LEAST_CYCLES, _copy_cycles(node.funct, word, is_zeros, config)))
    if isinstance(node, Weave):
        raise ValueError("a copy is no weave")
    times = max(0, node.extent.value) if node.extent.is_const else 1
    costs = [estimate(inner, config) for inner in node.body]
    commands = sum([cost.commands for cost in costs])
    return Cost(commands * times, sum([cost.cycles for cost in costs]) * times)


@lru_cache(maxsize=4096)  # a program's copies are of a few sizes
def _copy_cycles(funct: int, word: int, is_zeros: bool, config: NpuConfig) -> float:
    """Of a copy by its second word, which may name any row."""
    if funct not in COPIES:
        return 0
    copy = decode(funct, 0, word)
    assert isinstance(copy, (*LOADS, Mvout))
    rows, columns = copy.rows or config.dim, copy.cols or config.dim  # 0: not known
    if isinstance(copy, Mvout):
        # A row is collected block by block, then written.
        beats = ceil_div(columns, config.bus_bytes)
        return rows * max(_STORE_CYCLES_PER_ROW, ceil_div(columns, config.dim) + beats - 1)
    if is_zeros:
        return rows * ceil_div(columns, config.dim)
    if copy.local.accumulator:  # sums start from one row, repeated
        return rows * _START_CYCLES_PER_ROW
    request_bytes = columns
    if columns % config.bus_bytes:  # then rows begin anywhere, and requests are powers of two
        request_bytes = 1 << (columns + config.bus_bytes - 2).bit_length()
    beats = ceil_div(min(request_bytes, max(config.dma_request_bytes, columns)), config.bus_bytes)
    return rows * max(beats, columns * 1000 / config.memory_bytes_per_kilocycle)


def count_commands(nodes: Iterable[Node]) -> int:
    """How many commands the nodes issue; loops whose extent is not known are taken once."""
    total = 0
    for node in nodes:
        if isinstance(node, Command):
            total += 1
        elif isinstance(node, Loop):
            times = max(0, node.extent.value) if node.extent.is_const else 1
            total += times * count_commands(node.body)
        else:
            total += count_commands(node.body) + count_commands(node.filling)
    return total


def _conflict(ours: list[Touched], theirs: list[Touched]) -> bool:
    """Whether two statements may touch the same rows."""
    return any(mine.conflicts(other) for mine, other in product(ours, theirs))
