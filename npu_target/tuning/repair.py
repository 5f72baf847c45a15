"""Keeping what is readable of damaged tuning logs.

Damage is told by what is in a line: its checksum, else its form. Whether a trace can be replayed
is no question of damage. Lines with a checksum go where that says, so that lines that are missing,
repeated or exchanged cost no others. A line without one is kept, unless a checksum is left over
that may have been its own.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tvm.s_tir import meta_schedule as ms

from ..device import DeviceConfig
from ..files import write_atomically
from .errors import LogError
from .header import HEADER_FILE, Header
from .journal import Line, encode, parse_line
from .log import lock_folder
from .log_files import (
    CHECKS,
    CHECKSUMS_FILE,
    RECORDS_FILE,
    WORKLOADS_FILE,
    Checksums,
    checksum,
    checksum_entry,
    read_files,
)

BROKEN_SUFFIX = ".broken"
_BEGINNING = re.compile(r'\[["\d]|\{"')  # of a line of any file


@dataclass
class Repaired:
    """What `repair` did to one file: lines kept; by number, lines that were dropped or are missing
    and why, and lines that were kept for their form, without a checksum or a checked workload."""

    file: str
    kept: int = 0
    dropped: list[tuple[int, str]] = field(default_factory=list)
    unchecked: list[int] = field(default_factory=list)


@dataclass
class _Found:
    """A line and its number in a damaged file. `place` is the number with which it was written,
    `known` whether a checksum says so."""

    number: int
    line: Line
    place: int
    known: bool


def repair(
    folder: Path, config: DeviceConfig | None = None, model: str | None = None
) -> list[Repaired]:
    """Drop the damaged lines of each file, put the others back into their order, and give a
    checksum to those that have none. A changed file's old form is kept beside it with `.broken`
    at its end; whole logs are not touched.

    A header that is missing or unreadable is written anew when the device and the model it
    stated are given. Raises LogError where it is and they are not, and when the folder cannot
    be read or written or is in use.
    """
    if not folder.is_dir():
        raise LogError(f"{folder} is not a folder of tuning logs")
    new_header = _new_header(folder, config, model)
    try:
        with lock_folder(folder):
            if new_header is not None:
                _write_header(folder, new_header)
            files = read_files(folder)
            results = {name: Repaired(name) for name in CHECKS}
            kept = {
                name: _sort_out(files.lines[name], files.checksums[name], results[name])
                for name in CHECKS
            }
            lines = {name: [one.line.data for one in found] for name, found in kept.items()}
            lines[RECORDS_FILE] = _follow(
                kept[WORKLOADS_FILE], kept[RECORDS_FILE], results[RECORDS_FILE]
            )
            _write(folder, lines, bool(files.problems))
    except OSError as error:
        raise LogError(f"{folder} cannot be repaired: {error.strerror}") from error
    for name, result in results.items():
        result.kept = len(lines[name])
        result.dropped.sort()
    return list(results.values())


def _new_header(folder: Path, config: DeviceConfig | None, model: str | None) -> Header | None:
    """None for a folder that has one. Leaves nothing in what is no folder of logs."""
    try:
        Header.read(folder)
        return None
    except LogError:
        if config is None or model is None:
            raise
    # Which of them measured is in the folder's name as well.
    parent, prefix = folder.resolve().parent.name, f"{config.name}@"
    runner = parent[len(prefix) :] if parent.startswith(prefix) else ""
    return Header.of(config, model, "npu-target logs repair", runner=runner)


def _write_header(folder: Path, header: Header) -> None:
    path = folder / HEADER_FILE
    if path.exists():
        path.rename(_beside(path))
    header.write(folder)


def _sort_out(lines: list[Line], checksums: Checksums, result: Repaired) -> list[_Found]:
    """The lines of a file that are kept, in the order in which they were written."""
    found = _find(lines, checksums, result)
    left = set(checksums) - {one.place for one in found if one.known}
    kept, doubtful = [], []
    # What a line's neighbours say of its place: it is certain where both say the same.
    place = max(checksums, default=0) + 1
    behind = [place := one.place if one.known else place - 1 for one in reversed(found)]
    place = 0
    for one, other in zip(found, reversed(behind), strict=True):
        place = one.place = one.place if one.known else place + 1
        problem = one.line.problem
        if not one.known and place in left and (place == other or problem is not None):
            left.remove(place)  # this is what became of the line
            problem = problem or "does not match its checksum"
        if problem is not None:
            result.dropped.append((one.number, problem))
        elif one.known or (place == other and place not in checksums):
            kept.append(one)
        else:
            doubtful.append(one)
    if left:
        result.dropped += [(one.number, "does not match any checksum") for one in doubtful]
        # The checksum of a line that never came is no loss.
        if max(checksums) == 1 + max((one.place for one in found), default=0):
            left.discard(max(checksums))
    else:
        kept += doubtful
    result.dropped += [(number, "is missing") for number in left]
    if result.file == WORKLOADS_FILE:
        bad = [one for one in kept if not one.known and not _can_be_read(one.line.value)]
        result.dropped += [(one.number, "cannot be read") for one in bad]
        kept = [one for one in kept if one not in bad]
    result.unchecked = [one.number for one in kept if not one.known]
    return sorted(kept, key=lambda one: (one.place, one.number))


def _find(lines: list[Line], checksums: Checksums, result: Repaired) -> list[_Found]:
    """What is in a file, with the place of each line that has a checksum; not those which are
    there a second time."""
    places: dict[str, list[int]] = defaultdict(list)  # of lines with this checksum, last one first
    for place in sorted(checksums, reverse=True):
        for stated in checksums[place]:
            places[stated].append(place)
    found = []
    taken: set[int] = set()
    workloads: set[str] = set()  # without a checksum; none is ever written twice
    for number, line in enumerate(lines, start=1):
        for data in _pieces(line, places):
            own = checksum(data)
            piece = parse_line(data, CHECKS[result.file])
            if own not in places:
                if own in workloads:
                    result.dropped.append((number, "is there already"))
                    continue
                if result.file == WORKLOADS_FILE:
                    workloads.add(own)
                problem = piece.problem and (line.problem or piece.problem)
                found.append(_Found(number, Line(data, piece.value, problem), 0, False))
                continue
            while places[own] and places[own][-1] in taken:
                places[own].pop()
            if places[own]:
                taken.add(places[own][-1])
                found.append(_Found(number, piece, places[own][-1], True))
            else:
                result.dropped.append((number, "is there already"))
    return found


def _pieces(line: Line, known: Container[str]) -> Iterator[bytes]:
    """A line, or the known lines in it: damage to its end joins a line with the next one."""
    data = line.data.strip()
    pieces = []
    if line.problem is not None and checksum(data) not in known:
        text, start = data.decode("latin-1"), 0  # a character for every byte
        while match := _BEGINNING.search(text, start):
            start = match.start() + 1
            try:
                _, end = json.JSONDecoder().raw_decode(text, match.start())
            except (ValueError, RecursionError):
                continue
            if checksum(data[match.start() : end]) in known:
                pieces.append(data[match.start() : end])
                start = end
    yield from pieces or [data]


def _can_be_read(workload: Any) -> bool:
    try:
        ms.database.Workload.from_json(workload)
    except (ValueError, RuntimeError, TypeError, LookupError):
        return False
    return True


def _follow(workloads: list[_Found], records: list[_Found], result: Repaired) -> list[bytes]:
    """The records' lines with the indices that their workloads have now."""
    checked = {one.place - 1 for one in workloads if one.known}
    index_of: dict[int, int] = {}
    for index, one in sorted(enumerate(workloads), key=lambda entry: entry[1].known):
        index_of[one.place - 1] = index
    lines = []
    for one in records:
        index, record = one.line.value
        if index not in index_of:
            workload = f"line {index + 1} of {WORKLOADS_FILE}"
            result.dropped.append((one.number, f"belongs to {workload}, which is lost"))
            continue
        if one.known and index not in checked:
            result.unchecked.append(one.number)
        moved = index_of[index] != index
        lines.append(encode([index_of[index], record]) if moved else one.line.data)
    return lines


def _write(folder: Path, lines: dict[str, list[bytes]], damaged: bool) -> None:
    """Write the files that change, having put all their old forms aside."""
    new = {name: b"".join(line + b"\n" for line in lines[name]) for name in lines}
    old = {
        name: (folder / name).read_bytes() if (folder / name).exists() else b""
        for name in [*lines, CHECKSUMS_FILE]
    }
    if damaged or any(new[name] != old[name] for name in new):
        new[CHECKSUMS_FILE] = b"".join(
            checksum_entry(name, number, line) + b"\n"
            for name in lines
            for number, line in enumerate(lines[name], start=1)
        )
    changed = [name for name in new if new[name] != old[name]]
    for name in changed:
        if old[name]:
            write_atomically(_beside(folder / name), old[name])
    for name in changed:
        write_atomically(folder / name, new[name])


def _beside(path: Path) -> Path:
    """Where a file's old form goes; that of an earlier repair stays."""
    names = (path.name + BROKEN_SUFFIX + (str(number) if number > 1 else "") for number in count(1))
    return next(other for name in names if not (other := path.with_name(name)).exists())
