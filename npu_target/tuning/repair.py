"""Keeping what is readable of damaged tuning logs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvm.s_tir import meta_schedule as ms

from ..config import NpuConfig
from ..files import write_atomically
from .errors import LogError
from .header import HEADER_FILE, Header
from .journal import read_lines
from .log import CHECKS, RECORDS_FILE, WORKLOADS_FILE, lock_folder

BROKEN_SUFFIX = ".broken"


@dataclass(frozen=True)
class Repaired:
    """What `repair` did to one file: lines kept and lines dropped."""

    file: str
    kept: int
    dropped: int


def repair(
    folder: Path, config: NpuConfig | None = None, model: str | None = None
) -> list[Repaired]:
    """Drop the lines of each file that cannot be used; a changed file's old form is kept beside
    it with `.broken` at its end.

    A header that is missing or unreadable is written anew when the device and the model it
    stated are given. Raises LogError where it is and they are not, and when the folder cannot
    be read or written or is in use.
    """
    if not folder.is_dir():
        raise LogError(f"{folder} is not a folder of tuning logs")
    try:
        with lock_folder(folder):
            _repair_header(folder, config, model)
            kept_workloads = _repair_workloads(folder)
            results = [Repaired(WORKLOADS_FILE, *_counts(kept_workloads))]
            results.append(_repair_records(folder, kept_workloads))
            for name in sorted(CHECKS.keys() - {WORKLOADS_FILE, RECORDS_FILE}):
                lines, problems = read_lines(folder / name, CHECKS[name])
                kept = [line for line in lines if line is not None]
                if problems:
                    _replace(folder / name, kept)
                results.append(Repaired(name, len(kept), len(lines) - len(kept)))
            return results
    except OSError as error:
        raise LogError(f"{folder} cannot be repaired: {error.strerror}") from error


def _repair_header(folder: Path, config: NpuConfig | None, model: str | None) -> None:
    try:
        Header.read(folder)
        return
    except LogError:
        if config is None or model is None:
            raise
    path = folder / HEADER_FILE
    if path.exists():
        path.rename(folder / (HEADER_FILE + BROKEN_SUFFIX))
    Header.of(config, model, "python -m npu_target.tuning repair").write(folder)


def _repair_workloads(folder: Path) -> list[ms.database.Workload | None]:
    """The workloads by their old index, None for one that is lost."""
    lines, problems = read_lines(folder / WORKLOADS_FILE, CHECKS[WORKLOADS_FILE])
    workloads: list[ms.database.Workload | None] = []
    for line in lines:
        try:
            workloads.append(None if line is None else ms.database.Workload.from_json(line))
        except (ValueError, RuntimeError, TypeError):
            workloads.append(None)
    if problems or None in workloads:
        kept = [
            line for line, workload in zip(lines, workloads, strict=True) if workload is not None
        ]
        _replace(folder / WORKLOADS_FILE, kept)
    return workloads


def _repair_records(folder: Path, workloads: list[ms.database.Workload | None]) -> Repaired:
    lines, problems = read_lines(folder / RECORDS_FILE, CHECKS[RECORDS_FILE])
    # A lost workload moves up those behind it.
    new_index: dict[int, int] = {}
    for old, workload in enumerate(workloads):
        if workload is not None:
            new_index[old] = len(new_index)
    kept = [
        [new_index[line[0]], line[1]]
        for line in lines
        if line is not None
        and line[0] in new_index
        and _can_be_replayed(line[1], workloads[line[0]])
    ]
    if problems or kept != lines:
        _replace(folder / RECORDS_FILE, kept)
    return Repaired(RECORDS_FILE, len(kept), len(lines) - len(kept))


def _can_be_replayed(record: list[Any], workload: ms.database.Workload | None) -> bool:
    try:
        ms.database.TuningRecord.from_json(record, workload)
    except (ValueError, RuntimeError, TypeError):
        return False
    return True


def _replace(path: Path, lines: list[Any]) -> None:
    """Rename the old file out of the way, unless an older one is kept there, and write anew."""
    broken = path.with_name(path.name + BROKEN_SUFFIX)
    if not broken.exists():
        write_atomically(broken, path.read_bytes())
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    write_atomically(path, text.encode())


def _counts(workloads: list[ms.database.Workload | None]) -> tuple[int, int]:
    dropped = sum(workload is None for workload in workloads)
    return len(workloads) - dropped, dropped
