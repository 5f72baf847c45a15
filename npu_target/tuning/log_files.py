"""The files of a folder of logs, line by line, and the checksums by which damage is found.

`checksums.jsonl` has for each line of the other files

    [file, number of the line from 1, checksum of the line, checksum of these three]

A checksum is written *before* its line. So a line always has one, whenever the run that wrote it
died; at most the last one of a file waits for a line that never came. It stands in a file of its
own because MetaSchedule refuses lines of its database that hold anything more.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .journal import Line, LineCheck, encode, read_lines

WORKLOADS_FILE = "database_workload.json"
RECORDS_FILE = "database_tuning_record.json"
MEASUREMENTS_FILE = "measurements.jsonl"
FAILURES_FILE = "failures.jsonl"
CHECKSUMS_FILE = "checksums.jsonl"

_MOST_SECONDS = 1e10  # MetaSchedule's time for what has none

# Of one file: the checksums of each line, by its number. After a run that died between the two,
# a line has a second checksum: that of the line which never came.
Checksums = Mapping[int, set[str]]


def checksum(line: bytes) -> str:
    """16 hex digits. White space around a line does not count: some tools change line ends."""
    return hashlib.blake2b(line.strip(), digest_size=8).hexdigest()


def checksum_entry(file: str, number: int, line: bytes) -> bytes:
    """The line of `checksums.jsonl` for a line of a file."""
    stated = [file, number, checksum(line)]
    return encode([*stated, checksum(encode(stated))])


@dataclass(frozen=True)
class LogFiles:
    """`lines` and `checksums` by file. `problems` are (file, line number, what is wrong); there
    are none in whole logs."""

    lines: dict[str, list[Line]]
    checksums: dict[str, Checksums]
    problems: list[tuple[str, int, str]]


def read_files(folder: Path) -> LogFiles:
    """Raises LogError for a file that cannot be read."""
    # A run may be adding to the files meanwhile. In this order each record finds its workload, and
    # each checksum its line, but for a file's last one; a line may be newer than the checksums.
    entries = read_lines(folder / CHECKSUMS_FILE, check_entry)
    before = after = _checksums_of(entries)
    lines = {name: read_lines(folder / name, CHECKS[name]) for name in reversed(CHECKS)}
    if any(len(lines[name]) > len(before[name]) for name in CHECKS):
        entries = read_lines(folder / CHECKSUMS_FILE, check_entry)
        after = _checksums_of(entries)
    problems = [
        (CHECKSUMS_FILE, number, entry.problem)
        for number, entry in enumerate(entries, start=1)
        if entry.problem is not None
    ]
    for name in CHECKS:
        for number, problem in _problems(lines[name], before[name], after[name]):
            problems.append((name, number, problem))
    return LogFiles({name: lines[name] for name in CHECKS}, after, problems)


def _checksums_of(entries: Iterable[Line]) -> dict[str, Checksums]:
    result: dict[str, Checksums] = {name: defaultdict(set) for name in CHECKS}
    for entry in entries:
        if entry.value is not None:
            file, number, stated, _ = entry.value
            result[file][number].add(stated)
    return result


def _problems(lines: list[Line], before: Checksums, after: Checksums) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, start=1):
        if line.problem is not None:
            yield number, line.problem
        elif number not in after:
            yield number, "has no checksum"
        elif checksum(line.data) not in after[number]:
            yield number, "does not match its checksum"
    if max(before, default=0) > len(lines) + 1:
        yield len(lines) + 1, "is missing"


def check_entry(line: Any) -> str | None:
    """What is wrong with a line of the checksums; None for a good one."""
    good = (
        isinstance(line, list)
        and len(line) == 4
        and line[3] == checksum(encode(line[:3]))
        and line[0] in CHECKS
    )
    return None if good else "is not a checksum of a line"


def check_workload(line: Any) -> str | None:
    """What is wrong with a line of the workload table; None for a good one."""
    match line:
        case [str(), str()]:
            return None
    return "is not a workload"


def check_record(line: Any) -> str | None:
    """What is wrong with a line of the record table; None for a good one."""
    match line:
        case [int(workload), [[*_], [*seconds], _, _]] if workload >= 0:
            # TVM writes whole numbers without a point.
            if all(isinstance(s, (int, float)) and 0 <= s <= _MOST_SECONDS for s in seconds):
                return None
    return "is not a tuning record"


def check_measurement(line: Any) -> str | None:
    """What is wrong with a line of the measurements; None for a good one."""
    return _check_object(line, task=str, cycles=(int, float), program=(str, type(None)))


def check_failure(line: Any) -> str | None:
    """What is wrong with a line of the failures; None for a good one."""
    return _check_object(line, task=str, kind=str, message=str, program=(str, type(None)))


def _check_object(line: Any, **fields: Any) -> str | None:
    if not isinstance(line, dict):
        return "is not an entry of this log"
    for name, types in fields.items():
        if name not in line or not isinstance(line[name], types):
            return f"has no usable {name!r}"
    return None


# In the order in which lines that belong together are written.
CHECKS: dict[str, LineCheck] = {
    WORKLOADS_FILE: check_workload,
    RECORDS_FILE: check_record,
    MEASUREMENTS_FILE: check_measurement,
    FAILURES_FILE: check_failure,
}
