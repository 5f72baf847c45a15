"""A folder of tuning logs: a MetaSchedule database, what failed, and what made it.

    tuning_logs/<device>/<model>/     or <device>@<runner>, measured by a command of the user's
        header.json                   device, model, versions: see header.py
        database_workload.json        MetaSchedule's JSONDatabase, line by line
        database_tuning_record.json
        measurements.jsonl            one line per measurement that counted, in order
        failures.jsonl                one line per failed candidate, with its kind
        checksums.jsonl               of each line of the four above: see log_files.py
        run.log                       what MetaSchedule and worker processes had to say

Logs may lie over others, those that come with the package: what is beneath is read as if it were
here, and never written to.

MetaSchedule's own database class writes only when a whole batch is done, and replays every trace
when it reads. This one writes each record the moment it is known and parses only what is asked
for; `JSONDatabase(work_dir=folder)` reads the same files.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm_ffi
from tvm.ir import IRModule
from tvm.s_tir import meta_schedule as ms

from ..schedule_rules.traces import to_plain
from .errors import LogError
from .failure import DEVICE_LOST
from .header import HEADER_FILE, Header
from .journal import Journal, encode
from .log_files import (
    CHECKS,
    CHECKSUMS_FILE,
    FAILURES_FILE,
    MEASUREMENTS_FILE,
    RECORDS_FILE,
    WORKLOADS_FILE,
    checksum_entry,
    read_files,
)
from .routes import BESIDE, counts

_LOCK_FILE = ".lock"
RUN_LOG_FILE = "run.log"
# The number, in place of a trial's, of a default schedule's measurement.
DEFAULT_TRIAL = 0


@dataclass(frozen=True)
class RecordLine:
    """One tuning record in the logs of a folder, its trace not yet parsed. `seconds` is its mean
    run time."""

    folder: Path
    line: int
    workload: int
    seconds: float
    record: list[Any]


class TuningLog:
    """The logs in one folder, read and checked. Make one with `open_log` or `read_log`.

    routes : of `routes.ROUTES`, which records are looked at: those of schedules and of the device's
        routes alike, or of one sort.
    beneath : logs of the same whose records count as well; None for none.
    """

    def __init__(self, folder: Path, header: Header, beneath: TuningLog | None = None) -> None:
        """Read every file. Raises LogError, saying what to do, for the first that is damaged."""
        self.folder = folder
        self.header = header
        self.beneath = beneath
        self.routes = BESIDE
        files = read_files(folder)
        if files.problems:
            raise _damaged(folder, *files.problems[0])
        values = {name: [line.value for line in lines] for name, lines in files.lines.items()}
        self.workloads = [
            _parse_workload(folder, number, value)
            for number, value in enumerate(values[WORKLOADS_FILE], start=1)
        ]
        self._records = [
            _record_line(folder, number, value)
            for number, value in enumerate(values[RECORDS_FILE], 1)
        ]
        for record in self._records:
            if record.workload >= len(self.workloads):
                raise _damaged(folder, RECORDS_FILE, record.line, "has no workload")
        self.measurements: list[dict[str, Any]] = values[MEASUREMENTS_FILE]
        self.failures: list[dict[str, Any]] = values[FAILURES_FILE]
        self._counts = {name: len(lines) for name, lines in values.items()}
        self._journals: dict[str, Journal] = {}
        self._indices: dict[IRModule, int] = {}  # of workloads, by what they were asked for with

    @property
    def trials(self) -> int:
        """Candidates that these logs, without those beneath, know the fate of."""
        failed = sum(failure["kind"] != DEVICE_LOST for failure in self.failures)
        measured = sum(entry.get("trial") != DEFAULT_TRIAL for entry in self.measurements)
        return measured + failed

    @property
    def known_measurements(self) -> list[dict[str, Any]]:
        """Those beneath, then these."""
        return [*(self.beneath.known_measurements if self.beneath else ()), *self.measurements]

    @property
    def known_failures(self) -> list[dict[str, Any]]:
        """Those beneath, then these."""
        return [*(self.beneath.known_failures if self.beneath else ()), *self.failures]

    def records_of(self, mod: IRModule) -> list[RecordLine]:
        """Records of a workload, fastest first; of equally fast ones these before those beneath."""
        found = [record for record in self._all_of(mod) if counts(record.record[0], self.routes)]
        return sorted(found, key=lambda record: record.seconds)

    def has_records(self, mod: IRModule) -> bool:
        """Whether a workload has records of any sort."""
        return any(self._all_of(mod))

    @property
    def modules(self) -> list[IRModule]:
        """The workloads that have records, these before those beneath."""
        found = [workload.mod for workload in self.workloads]
        if self.beneath is not None:
            found += [mod for mod in self.beneath.modules if self._index_of(mod) is None]
        return found

    def _all_of(self, mod: IRModule) -> Iterator[RecordLine]:
        index = self._index_of(mod)
        yield from (record for record in self._records if record.workload == index)
        if self.beneath is not None:
            yield from self.beneath._all_of(mod)

    def parse(self, record: RecordLine) -> ms.database.TuningRecord:
        """The record with its trace. Raises LogError for one that cannot be replayed."""
        if self.beneath is not None and record.folder != self.folder:
            return self.beneath.parse(record)
        workload = self.workloads[record.workload]
        try:
            return ms.database.TuningRecord.from_json(record.record, workload)
        except (ValueError, RuntimeError, TypeError) as error:
            reason = (str(error).strip().splitlines() or ["no reason given"])[-1]
            raise LogError(
                f"{self.folder / RECORDS_FILE}: line {record.line} is as it was written but cannot "
                f"be replayed ({reason[:200]}); drop what no longer applies with: "
                f"npu-target logs remeasure {self.folder}"
            ) from error

    def best(self, mod: IRModule) -> ms.database.TuningRecord | None:
        """The fastest record of a workload; None when there is none."""
        records = self.records_of(mod)
        return self.parse(records[0]) if records else None

    def add(self, record: ms.database.TuningRecord, measurement: dict[str, Any]) -> None:
        """Write a record, and the line on its measurement, before returning.

        Raises LogError when they cannot be written.
        """
        self.add_json(record.workload.mod, to_plain(record.as_json()), measurement)

    def add_json(self, mod: IRModule, record: list[Any], measurement: dict[str, Any]) -> None:
        """As `add`, for a record of the workload `mod` in JSON form."""
        self.add_record(mod, record)
        self.add_measurement(measurement)

    def add_record(self, mod: IRModule, record: list[Any]) -> None:
        """Write a record without the line on its measurement."""
        index = self._index_of(mod)
        if index is None:
            index = len(self.workloads)
            workload = ms.database.Workload(mod)
            self._append(WORKLOADS_FILE, to_plain(workload.as_json()))
            self.workloads.append(workload)
        line = [index, record]
        self._append(RECORDS_FILE, line)
        self._records.append(_record_line(self.folder, self._counts[RECORDS_FILE], line))

    def add_measurement(self, measurement: dict[str, Any]) -> None:
        """Write the line on a measurement."""
        self._append(MEASUREMENTS_FILE, measurement)
        self.measurements.append(measurement)

    def add_failure(self, failure: dict[str, Any]) -> None:
        """Write a line on a failed candidate before returning; see `check_failure`."""
        self._append(FAILURES_FILE, failure)
        self.failures.append(failure)

    def close(self) -> None:
        for journal in self._journals.values():
            journal.close()
        self._journals.clear()

    def _append(self, name: str, value: Any) -> None:
        problem = CHECKS[name](value)
        assert problem is None, f"{name}: {problem}"  # would be refused when it is read
        line = encode(value)
        number = self._counts[name] + 1
        self._journal(CHECKSUMS_FILE).append(checksum_entry(name, number, line))
        self._journal(name).append(line)
        self._counts[name] = number

    def _journal(self, name: str) -> Journal:
        if name not in self._journals:
            self._journals[name] = Journal(self.folder / name)
        return self._journals[name]

    def _index_of(self, mod: IRModule) -> int | None:
        if mod in self._indices:  # comparing takes longer than writing a record does
            return self._indices[mod]
        for index, workload in enumerate(self.workloads):
            if tvm_ffi.structural_equal(workload.mod, mod):
                self._indices[mod] = index
                return index
        return None


def log_folder(logs: Path, header: Header) -> Path:
    """The folder, in a folder `logs`, of the logs with this header."""
    return logs / header.measured_on / header.model


def read_log(folder: Path, current: Header, beneath: TuningLog | None = None) -> TuningLog:
    """The logs in `folder`, over those `beneath`, for reading. Raises LogError unless they are
    whole and made for the device, the model and the versions of `current`."""
    if not folder.is_dir():
        raise LogError(f"{folder} does not exist; tune first, or give another --logs folder")
    header = Header.read(folder)
    header.check_usable_by(current, folder)
    return TuningLog(folder, header, beneath)


def check_log(folder: Path, current: Header) -> None:
    """Raise LogError now where `open_log` would later; makes nothing."""
    if folder.is_dir() and any(folder.iterdir()):
        if (folder / _LOCK_FILE).exists() and os.access(folder, os.W_OK):
            with lock_folder(folder):
                pass
        read_log(folder, current)
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        reason = "is not a folder" if not existing.is_dir() else "cannot be written"
        raise LogError(f"{existing} {reason}; give another --logs folder")


def check_can_make(folder: Path) -> None:
    """Raise LogError now for a folder of logs that could not be made later; leaves nothing."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    finally:
        for path in missing:
            with suppress(OSError):
                path.rmdir()


def _cannot_write(folder: Path, error: OSError) -> LogError:
    return LogError(f"{folder} cannot be written: {error.strerror}; give another folder")


@contextmanager
def open_log(
    folder: Path, current: Header, beneath: TuningLog | None = None
) -> Iterator[TuningLog]:
    """The logs in `folder`, over those `beneath`, for adding to; an empty or missing folder is made
    into one.

    Raises LogError as `read_log` does, and where the folder cannot be written or another run is
    writing to it.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(lock_folder(folder))
            if not (folder / HEADER_FILE).exists() and not (folder / RECORDS_FILE).exists():
                current.write(folder)
        except OSError as error:
            raise _cannot_write(folder, error) from error
        log = read_log(folder, current, beneath)
        stack.callback(log.close)
        yield log


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other runs from writing to `folder`; raises LogError when one does."""
    descriptor = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LogError(
                f"another run is writing to {folder}; wait for it or give another --logs folder"
            ) from None
        yield
    finally:
        os.close(descriptor)


def _record_line(folder: Path, number: int, line: list[Any]) -> RecordLine:
    workload, record = line
    seconds = record[1]
    mean = sum(seconds) / len(seconds) if seconds else 1e10
    return RecordLine(folder, number, workload, mean, record)


def _parse_workload(folder: Path, number: int, line: Any) -> ms.database.Workload:
    try:
        return ms.database.Workload.from_json(line)
    except (ValueError, RuntimeError, TypeError) as error:
        raise LogError(
            f"{folder / WORKLOADS_FILE}: line {number} is as it was written, but this TVM cannot "
            "read it; tune again into another --logs folder"
        ) from error


def _damaged(folder: Path, name: str, line: int, problem: str) -> LogError:
    return LogError(
        f"{folder / name}: line {line} {problem}; keep what is readable with: "
        f"npu-target logs repair {folder}"
    )
