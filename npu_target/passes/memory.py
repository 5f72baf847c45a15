"""Where the tiles live: rows of the device's memories, with their banks in mind.

A bank has one port: data that arrives keeps the steps from reading, and operands A and B of one
step that share a bank take two cycles a row.  So the versions of a double-buffered tile, and A
and B, get banks of their own while there are enough; otherwise they are packed more tightly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ..device import DeviceConfig, Memory, kind_of
from .errors import CodegenError, DoesNotFit


@dataclass(frozen=True)
class LocalBuffer:
    """A tile: ``shape`` ends in the columns of a row; ``versions`` > 1 is its first dimension."""

    name: str
    scope: str
    shape: tuple[int, ...]
    versions: int = 1
    stationary: bool = False  # operand B of steps
    live: tuple[int, int] = (0, 0)  # first and last statement of the function that uses it
    # Of sums whose blocks lie side by side: rows of a step, which the last dimension but one
    # is a multiple of.  The blocks are the second dimension of a version.
    wide_rows: int | None = None
    # The order of a version's dimensions but the last, outermost first; None: as they are.
    order: tuple[int, ...] | None = None
    # Whether a store pools it.
    pooled: bool = False
    # Whether steps come to its halves by turns: they lie in banks of their own.
    halved: bool = False
    # Rows that stacked loads write past those of a line of rows, the last dimension but one, and
    # as many before its first.
    spare_rows: int = 0

    @property
    def rows(self) -> int:
        """Rows of one version."""
        if self.spare_rows:
            lines = prod(self.shape[:-2]) // self.versions
            return lines * (self.shape[-2] + self.spare_rows)
        rows = prod(self.shape[:-1]) // self.versions
        return rows if self.wide_rows is None else rows // self.wide_rows * self.shape[-1]


@dataclass(frozen=True)
class Placement:
    """First row of a tile and the rows between neighbours along each dimension but the last;
    ``end_row`` follows the last row of its last version.

    ``wide`` is for sums whose blocks lie side by side: the rows of a step (along the last
    dimension but one), and the rows between a step's first and the next one's.
    """

    scope: str
    row: int
    end_row: int
    strides: tuple[int, ...]
    wide: tuple[int, int] | None = None

    def overlaps(self, other: Placement) -> bool:
        """Whether two tiles, in use at different times, share rows."""
        same_memory = self.scope == other.scope
        return same_memory and self.row < other.end_row and other.row < self.end_row


def allocate(buffers: Sequence[LocalBuffer], config: DeviceConfig) -> dict[str, Placement]:
    """Place every buffer, by name.

    Raises
    ------
    DoesNotFit
        naming the memory, what is needed and what there is.
    CodegenError
        for a tile whose rows are not those of the memories: it was made for another device.
    """
    placements: dict[str, Placement] = {}
    for memory in config.memories.all:
        mine = [buffer for buffer in buffers if buffer.scope == memory.scope]
        for buffer in mine:
            if buffer.shape[-1] != memory.columns:
                raise CodegenError(
                    f"tile {buffer.name} has rows of {buffer.shape[-1]} elements, "
                    f"the {memory.title} of {config.name} has {memory.columns}"
                )
        for together in _live_together(mine):
            needed = sum(buffer.rows * buffer.versions + buffer.spare_rows for buffer in together)
            if needed > memory.rows:
                tiles = ", ".join(f"{b.name} {b.versions} x {b.rows}" for b in together)
                raise DoesNotFit(
                    f"tiles need {needed} rows of the {memory.title} ({tiles}), "
                    f"{config.name} has {memory.rows}; use smaller tiles or single buffering"
                )
            placed = _place(together, memory)
            for buffer in together:
                if buffer.pooled and kind_of(config).copy_rules(config).pooled_in_bank:
                    _check_in_banks(buffer, placed[buffer.name], memory, config)
            placements.update(placed)
    return placements


def free_rows(
    buffers: Sequence[LocalBuffer], placements: Mapping[str, Placement], memory: Memory
) -> list[range]:
    """The rows of a memory that no buffer has, each range in one bank."""
    used: list[range] = []
    for buffer in buffers:
        if buffer.scope == memory.scope:
            placement = placements[buffer.name]
            pitch = placement.strides[0] if buffer.versions > 1 else 0
            for version in range(buffer.versions):
                first = placement.row + version * pitch
                used.append(range(first - buffer.spare_rows, first + buffer.rows))
    used.sort(key=lambda rows: rows.start)
    found = []
    for bank in range(0, memory.rows, memory.bank_rows):
        free, end = bank, bank + memory.bank_rows
        for rows in used:
            if rows.start >= end:
                break
            if rows.start > free:
                found.append(range(free, rows.start))
            free = max(free, rows.stop)
        if free < end:
            found.append(range(free, end))
    return found


def _check_in_banks(
    buffer: LocalBuffer, placement: Placement, memory: Memory, config: DeviceConfig
) -> None:
    """Raise DoesNotFit for a pooled tile of which a version reaches from one bank into the next."""
    pitch = placement.strides[0] if buffer.versions > 1 else 0
    for version in range(buffer.versions):
        first = placement.row + version * pitch
        if first // memory.bank_rows != (first + buffer.rows - 1) // memory.bank_rows:
            raise DoesNotFit(
                f"pooled tile {buffer.name} of {buffer.rows} rows reaches over the end of a bank, "
                f"which has {memory.bank_rows} rows of the {memory.title} on {config.name}; "
                "behind it a store does not wait for loads: use smaller tiles"
            )


def _live_together(buffers: list[LocalBuffer]) -> list[list[LocalBuffer]]:
    """Groups of which each is done with before the next begins: they share the memory."""
    groups: list[list[LocalBuffer]] = []
    end = -1
    for buffer in sorted(buffers, key=lambda buffer: buffer.live):
        if buffer.live[0] > end:
            groups.append([])
        groups[-1].append(buffer)
        end = max(end, buffer.live[1])
    return groups


def _place(buffers: list[LocalBuffer], memory: Memory) -> dict[str, Placement]:
    """The first of three layouts that fits: banks for every version, for A and B, for none."""
    # Stationary operands last: what is left of a bank after A is then one gap, not several.
    ordered = sorted(buffers, key=lambda buffer: buffer.stationary)
    bank_rows = memory.bank_rows
    own_banks = [bank_rows] * len(ordered), [bank_rows] * len(ordered)
    first_stationary = next((i for i, b in enumerate(ordered) if b.stationary), None)
    split = (
        [1] * len(ordered),
        [bank_rows if i == first_stationary else 1 for i in range(len(ordered))],
    )
    packed = [1] * len(ordered), [1] * len(ordered)
    for version_alignment, start_alignment in (own_banks, split, packed):
        placements = {}
        row = 0
        for buffer, between, start in zip(ordered, version_alignment, start_alignment, strict=True):
            row = _round_up(row + buffer.spare_rows, start)
            if buffer.halved and buffer.versions == 1 and start > 1:
                half = buffer.rows // 2
                row = _round_up(row + half, bank_rows) - half
            pitch = _round_up(buffer.rows, between) if buffer.versions > 1 else buffer.rows
            end = row + pitch * (buffer.versions - 1) + buffer.rows
            placements[buffer.name] = _placement(buffer, row, end, pitch)
            row = end
        if row <= memory.rows:
            return placements
    raise AssertionError("packed tiles of a checked total always fit")


def _placement(buffer: LocalBuffer, row: int, end_row: int, pitch_rows: int) -> Placement:
    if buffer.wide_rows is None:
        return Placement(buffer.scope, row, end_row, _strides(buffer, pitch_rows))
    *versions, _, blocks = buffer.shape[: 2 + (buffer.versions > 1)]
    *lines, pixels, dim = buffer.shape[len(versions) + 2 :]
    step = blocks * dim
    strides = [1]
    between = pixels // buffer.wide_rows * step
    for extent in reversed(lines):
        strides.append(between)
        between *= extent
    strides += [dim, between] + ([pitch_rows] if versions else [])
    return Placement(buffer.scope, row, end_row, tuple(reversed(strides)), (buffer.wide_rows, step))


def _strides(buffer: LocalBuffer, pitch_rows: int) -> tuple[int, ...]:
    has_versions = buffer.versions > 1
    extents = [*buffer.shape[has_versions:-1]]
    if buffer.spare_rows:
        extents[-1] += buffer.spare_rows
    strides = [0] * len(extents)
    rows = 1
    for dimension in reversed(buffer.order or range(len(extents))):
        strides[dimension] = rows
        rows *= extents[dimension]
    return (*((pitch_rows,) if has_versions else ()), *strides)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
