"""Which streams depend on an order that the device does not keep, by brute force.

Two events a command, issue and completion; an edge from one to another that comes later on every
device; reachability. Nothing is forgotten and nothing is clever, so it is for short streams. Of the
commands it knows CONFIG_EX, MVIN without pixel repeats, weight-stationary PRELOAD and COMPUTE
without transposes and with unit strides, and MVOUT without pooling; load id 1 is shrunk, load id 2
loads one row of DRAM again and again. `BLOCK_STRIDE`, `LOAD_STRIDE` and `STORE_STRIDE` are in
force, and banks of the accumulator have `ACC_BANK_ROWS`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from .device import (
    COMPUTE_ACCUMULATED,
    COMPUTE_PRELOADED,
    CONFIG,
    GARBAGE,
    MVIN,
    MVIN2,
    MVIN3,
    MVOUT,
    PRELOAD,
    bits,
)

DIM = 16
BLOCK_STRIDE = 24
LOAD_STRIDE = 32
STORE_STRIDE = 32
ACC_BANK_ROWS = 64
# Pairs of PRELOAD and COMPUTE that may be in the array, and one whose operands are being read.
PAIRS_IN_ARRAY = 7
LEAST_ROWS = 4  # of a run of the array
CYCLES_OF_A_WRITE = 2  # of a row of the accumulator
Row = tuple[bool, int]  # of the accumulator or not, which


def rows_of(local: int, count: int) -> list[Row]:
    if bits(local, 31, 0) == GARBAGE:
        return []
    return [(bool(bits(local, 31, 31)), bits(local, 25, 0) + i) for i in range(count)]


def address_of(local: int) -> int:
    return bits(local, 31, 0)


@dataclass
class Step:
    """A command: its queue, the rows that are compared, and what it does with rows and bytes."""

    index: int
    queue: str
    read_range: set[Row] = field(default_factory=set)
    write_range: set[Row] = field(default_factory=set)
    reads: set[Row] = field(default_factory=set)
    writes: set[Row] = field(default_factory=set)
    accumulates: bool = False
    loads_bytes: set[int] = field(default_factory=set)
    stores_bytes: set[int] = field(default_factory=set)
    # Banks of the accumulator that get zeros, and that get data of several rows a request.
    zero_banks: set[int] = field(default_factory=set)
    data_banks: set[int] = field(default_factory=set)


@dataclass
class Pair:
    """A PRELOAD and its COMPUTE."""

    preload: int
    compute: int
    addresses: list[int]
    operands: set[Row]
    result: int
    result_rows: set[Row]
    configs: int  # CONFIG_EX before it
    has_new_weights: bool
    fed: int = 0  # rows of the compute's run, without weights beside it


def _bytes(address: int, rows: int, row_bytes: int, stride: int) -> set[int]:
    return {address + i * stride + j for i in range(rows) for j in range(row_bytes)}


def _step(index: int, funct: int, rs1: int, rs2: int) -> Step:
    rows, cols = bits(rs2, 63, 48), bits(rs2, 47, 32)
    blocks = -(-cols // DIM)
    is_acc = bool(bits(rs2, 31, 31))
    if funct in (MVIN, MVIN2, MVIN3):
        step = Step(index, "load", accumulates=bool(bits(rs2, 30, 30)))
        step.write_range = set(rows_of(rs2, (blocks - 1) * BLOCK_STRIDE + rows))
        step.writes = {row for b in range(blocks) for row in rows_of(rs2 + b * BLOCK_STRIDE, rows)}
        width = 4 if is_acc and funct != MVIN2 else 1
        stride = 0 if funct == MVIN3 else LOAD_STRIDE
        banks = {row // ACC_BANK_ROWS for is_acc, row in step.writes if is_acc}
        if not rs1:
            step.zero_banks = banks
            return step
        step.loads_bytes = _bytes(rs1, rows, cols * width, stride)
        if blocks * (1 if stride else rows) > 1:
            step.data_banks = banks
        return step
    if funct == MVOUT:
        step = Step(index, "store")
        step.read_range = set(rows_of(rs2, (blocks - 1) * DIM + rows))
        step.reads = {row for b in range(blocks) for row in rows_of(rs2 + b * DIM, rows)}
        step.stores_bytes = _bytes(rs1, rows, cols, STORE_STRIDE)
        return step
    step = Step(index, "array")
    step.read_range = set(rows_of(rs1, bits(rs1, 63, 48)))
    if funct == PRELOAD:
        step.write_range = set(rows_of(rs2, rows))
        step.accumulates = bool(bits(rs2, 30, 30))
    else:
        step.read_range |= set(rows_of(rs2, rows))
    step.reads, step.writes = set(step.read_range), set(step.write_range)
    if step.accumulates:
        step.reads |= step.writes
    return step


class Races:
    """Finds them all; `first` is the index of the first command that makes one, None without."""

    def __init__(self, commands: list[tuple[int, int, int]]) -> None:
        self.steps: list[Step] = []
        self.pairs: list[Pair] = []
        self.edges: dict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
        self.by_result: set[tuple[int, int]] = set()  # edges that only written rows make
        configs = 0
        for index, (funct, rs1, rs2) in enumerate(commands):
            if funct == CONFIG:
                configs += bits(rs1, 1, 0) == 0
                continue
            self.steps.append(_step(index, funct, rs1, rs2))
            if funct == PRELOAD:
                operands, rows = self.steps[-1].read_range, self.steps[-1].write_range
                start = [address_of(rs1)]
                is_new = address_of(rs1) != GARBAGE
                self.pairs.append(Pair(index, -1, start, set(operands), rs2, rows, configs, is_new))
            elif funct in (COMPUTE_PRELOADED, COMPUTE_ACCUMULATED):
                pair = self.pairs[-1]
                pair.compute = index
                pair.addresses += [address_of(rs1), address_of(rs2)]
                pair.operands |= self.steps[-1].read_range
                fed = [bits(x, 63, 48) for x in (rs1, rs2) if address_of(x) != GARBAGE]
                pair.fed = max(LEAST_ROWS, *fed)
        self._connect()
        self.by_index = {step.index: step for step in self.steps}
        found = [
            *self._memory(),
            *self._unsettled(),
            *self._results_under_way(),
            *self._own_results(),
            *self._mixed_banks(),
            *self._dropped_sums(),
        ]
        self.first = min(found, default=None)

    def _connect(self) -> None:
        for step in self.steps:
            self.edges["issue", step.index].append(("complete", step.index))
        for pair in self.pairs:
            if pair.result_rows:
                self.edges["issue", pair.compute].append(("complete", pair.preload))
        for old, new in combinations(self.steps, 2):
            if old.queue == new.queue:
                self.edges["issue", old.index].append(("issue", new.index))
            elif old.read_range & new.write_range:
                self.edges["complete", old.index].append(("issue", new.index))
            elif old.write_range & (new.write_range | new.read_range):
                self.edges["complete", old.index].append(("issue", new.index))
                self.by_result.add((old.index, new.index))

    def is_complete_before(self, old: int, new: int) -> bool:
        """By commands up to ``new``: each is judged when it comes, by those before it. Until its
        COMPUTE has come, nothing is known of when a PRELOAD's result is there."""
        unknown = {pair.preload for pair in self.pairs if pair.compute > new}
        reached, todo = set(), [("complete", old)]
        while todo:
            node = todo.pop()
            if node in reached or node[1] > new:
                continue
            reached.add(node)
            is_unknown = node[0] == "complete" and node[1] in unknown
            todo += [
                later
                for later in self.edges[node]
                if not (is_unknown and (node[1], later[1]) in self.by_result)
            ]
        return ("issue", new) in reached

    def _memory(self) -> list[int]:
        found = []
        for old, new in combinations(self.steps, 2):
            if old.stores_bytes & new.loads_bytes:
                found.append(new.index)
            overwrites = old.loads_bytes & new.stores_bytes
            if overwrites and not self.is_complete_before(old.index, new.index):
                found.append(new.index)
        return found

    def _unsettled(self) -> list[int]:
        """Reads of rows that two loads wrote, nobody knows which of them last."""
        found = []
        loads = [step for step in self.steps if step.queue == "load"]
        for first, second in combinations(loads, 2):
            if first.accumulates and second.accumulates:
                continue
            if self.is_complete_before(first.index, second.index):
                continue
            for row in first.writes & second.writes:
                for later in self.steps:
                    if later.index <= second.index:
                        continue
                    if row in later.reads:
                        found.append(later.index)
                    is_settled = row in later.writes and not later.accumulates
                    if is_settled and all(
                        self.is_complete_before(load.index, later.index) for load in (first, second)
                    ):
                        break
        return found

    def _results_under_way(self) -> list[int]:
        return [
            step.index
            for pair in self.pairs
            for step in self.steps
            if step.queue != "array"
            and pair.preload < step.index < pair.compute
            and pair.result_rows & (step.reads | step.writes)
        ]

    def _mixed_banks(self) -> list[int]:
        """Zeros into a bank of the accumulator while data come into another."""
        return [
            new.index
            for old, new in combinations(self.steps, 2)
            for zeros, data in ((old, new), (new, old))
            if any(a != b for a in zeros.zero_banks for b in data.data_banks)
            and not self.is_complete_before(old.index, new.index)
        ]

    def _dropped_sums(self) -> list[int]:
        """Sums for rows of the accumulator that may still be being written. Rows come out of the
        array one a cycle, in the order of their addresses."""
        found = []
        for old, new in pairwise(self.pairs):
            is_sum = bool(bits(new.result, 30, 30)) and old.configs == new.configs
            cycles = DIM if new.has_new_weights else old.fed
            at = {row: cycle for cycle, row in enumerate(sorted(old.result_rows))}
            for cycle, row in enumerate(sorted(new.result_rows)):
                is_near = row in at and cycles + cycle - at[row] <= CYCLES_OF_A_WRITE
                if is_sum and row[0] and is_near:
                    found.append(new.preload)
        return found

    def _own_results(self) -> list[int]:
        """The array reads rows of the scratchpad before it has written its own result there."""
        found = []
        for old in range(len(self.pairs)):
            for new in range(old + 1, min(old + PAIRS_IN_ARRAY + 1, len(self.pairs))):
                written = {row for row in self.pairs[old].result_rows if not row[0]}
                if not written & self.pairs[new].operands:
                    continue
                if self.pairs[old].configs != self.pairs[new].configs:
                    continue
                is_waited_for = any(
                    address_of(self.pairs[result].result) in self.pairs[reader].addresses
                    for reader in range(old + 1, new + 1)
                    for result in range(old, reader)
                    if self.pairs[result].result_rows
                )
                if not is_waited_for:
                    found.append(self.pairs[new].compute)
        return found
