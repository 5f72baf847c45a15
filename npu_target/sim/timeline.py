"""The timeline of a run as Chrome's trace events, which ui.perfetto.dev and chrome://tracing open.

A cycle is shown as a microsecond. Slices are written as they come, so that a long run needs no
memory; DMA transfers overlap, so each direction has as many lanes as it needs at once.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from npu_target.device import DeviceKind
from npu_target.device.profile import LaneKind

# More than this a viewer does not open any more.
MAX_SLICES = 500_000

_WORD_MASK = 2**64 - 1
_PROCESS = 1


class Slice(NamedTuple):
    """Something that took the cycles [start, end), in the simulator's words."""

    lane: int
    start: int
    end: int
    command: int
    funct: int
    rs1: int
    rs2: int
    entered: int
    ready: int
    issued: int
    completed: int
    waited_for: int
    waited_for_index: int
    reason: int
    lost: int
    # Rows [from, to) of the device's memories that the command reads and writes, as many as
    # MEMORY_ROWS times the memory's place among `config.memories.all`, plus the row; 0 and 0: none.
    read_from: int
    read_to: int
    also_read_from: int
    also_read_to: int
    written_from: int
    written_to: int


MEMORY_ROWS = 2**32
_SLICE = struct.Struct(f"<{len(Slice._fields)}q")  # as the simulator packs it


class TimelineWriter:
    """Writes the events to a file: `receive` what the simulator sends, then `close`."""

    def __init__(self, file: BinaryIO, title: str, max_slices: int | None = None) -> None:
        self._file = file
        # Of the device, known once the file to be run is open.
        self.kind: DeviceKind | None = None
        self._texts: dict[tuple[int, int, int], str] = {}
        self._left = MAX_SLICES if max_slices is None else max_slices
        self._lane_ends: dict[int, list[int]] = {}
        self._named: set[int] = set()
        self.slices = 0
        # The cycle up to which there was room for slices, None if there was for all.
        self.cut_at: int | None = None
        # What went wrong while writing; the simulator, which it passes through, forgets its kind.
        self.error: OSError | None = None
        self._file.write(b'{"displayTimeUnit": "ns", "otherData": {"unit": "1 us is 1 cycle"},\n')
        self._file.write(b'"traceEvents": [\n')
        self._file.write(_json(_metadata("process_name", 0, {"name": title})))

    def receive(self, packed: bytes) -> bool:
        """Write slices. False when there is no room for more. Raises OSError."""
        for words in _SLICE.iter_unpack(packed):
            piece = Slice(*words)
            if self._left == 0:
                self.cut_at = piece.start
                return False
            self._left -= 1
            self.slices += 1
            try:
                for event in self._events(piece):
                    self._file.write(b",\n" + _json(event))
            except OSError as error:
                self.error = error
                raise
        return True

    def close(self) -> None:
        self._file.write(b"\n]}\n")

    def _events(self, piece: Slice) -> Iterator[dict[str, Any]]:
        assert self.kind is not None
        terms = self.kind.profile
        lane = terms.lanes[piece.lane]
        thread, name = lane.thread, lane.name
        if lane.kind is LaneKind.TRANSFERS:
            number = self._free_lane(piece)
            thread += number
            name = f"{name} {number}" if number else name
        if thread not in self._named:
            self._named.add(thread)
            yield _metadata("thread_name", thread, {"name": name})
            yield _metadata("thread_sort_index", thread, {"sort_index": thread})
        if lane.kind is LaneKind.REASONS:
            title, arguments = list(terms.reasons.values())[piece.reason], _reason_arguments(piece)
        else:
            title = self._text(piece.funct, piece.rs1 & _WORD_MASK, piece.rs2 & _WORD_MASK)
            arguments = _command_arguments(piece, lane.kind, terms.queues)
        yield {
            "ph": "X",
            "name": title,
            "cat": name,
            "pid": _PROCESS,
            "tid": thread,
            "ts": piece.start,
            "dur": piece.end - piece.start,
            "args": arguments,
        }

    def _text(self, funct: int, rs1: int, rs2: int) -> str:
        words = funct, rs1, rs2
        if words not in self._texts:
            assert self.kind is not None
            self._texts[words] = self.kind.commands.disassemble([words])
        return self._texts[words]

    def _free_lane(self, piece: Slice) -> int:
        ends = self._lane_ends.setdefault(piece.lane, [])
        for number, end in enumerate(ends):
            if end <= piece.start:
                ends[number] = piece.end
                return number
        ends.append(piece.end)
        return len(ends) - 1


def _json(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode()


def _metadata(what: str, thread: int, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": _PROCESS, "tid": thread, "args": arguments}


def _reason_arguments(piece: Slice) -> dict[str, Any]:
    return {"bank_conflict_cycles": piece.lost} if piece.lost else {}


def _command_arguments(piece: Slice, lane: LaneKind, queues: tuple[str, ...]) -> dict[str, Any]:
    arguments: dict[str, Any] = {"command": piece.command}
    if lane is LaneKind.HOST:
        arguments["waited_for_room_cycles"] = piece.lost
        return arguments
    arguments["entered"] = piece.entered
    arguments["ready"] = piece.ready
    arguments["issued"] = piece.issued
    arguments["completed"] = piece.completed
    if piece.waited_for < len(queues):
        queue = queues[piece.waited_for]
        arguments["waited_for"] = f"{queue}, command {piece.waited_for_index}"
    elif piece.issued > piece.ready:
        arguments["waited_for"] = "older commands of its queue"
    else:
        arguments["waited_for"] = "nothing"
    if lane is not LaneKind.TRANSFERS:
        arguments["waited_for_its_unit_cycles"] = piece.start - piece.issued
    return arguments
