"""Joining tuning logs of the same device and model into a new folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .errors import LogError
from .log import TuningLog, check_can_make, log_folder, open_log
from .workload import operator_of


@dataclass(frozen=True)
class Merged:
    """What became of it: the new folder, and how many records and failures it has."""

    folder: Path
    records: int
    failures: int


def merge(logs: Sequence[TuningLog], target: Path, command: str, most: int | None = None) -> Merged:
    """Write what `logs`, and those beneath them, hold to a new folder in `target`: equal lines
    once, of each workload all records or the fastest `most`, and then no failures. Of logs of
    another model than the first ones' only the layers that these have too.

    Raises LogError for logs that do not belong together, and for a folder that is there already.
    """
    first = logs[0]
    header = replace(first.header, command=command)
    folder = log_folder(target, header)
    wanted: dict[Path, set[str] | None] = {}
    for log in logs:
        replace(log.header, model=header.model).check_usable_by(header, log.folder)
        wanted[log.folder] = None if log.header.model == header.model else _common(log, first)
    if folder.exists() and any(folder.iterdir()):
        raise LogError(f"{folder} is there already; give another place for what is joined")
    check_can_make(folder)
    with open_log(folder, header) as new:
        _add_records(new, logs, most, wanted)
        _add_lines(new, logs, most, wanted)
        return Merged(
            folder, sum(len(new.records_of(mod)) for mod in new.modules), len(new.failures)
        )


def _common(log: TuningLog, first: TuningLog) -> set[str]:
    """The names of the layers that both logs have."""
    names = {operator_of(mod).name for mod in log.modules if first.has_records(mod)}
    if not names:
        raise LogError(
            f"{log.folder} has logs of {log.header.model}, and no layer of {first.folder}, which "
            f"has logs of {first.header.model}; name the folder of the model that you tune first"
        )
    return names


def _add_records(
    new: TuningLog,
    logs: Sequence[TuningLog],
    most: int | None,
    wanted: Mapping[Path, set[str] | None],
) -> None:
    for log in logs:
        for mod in log.modules:
            name = operator_of(mod).name
            if new.has_records(mod) or not _is_wanted(name, wanted[log.folder]):
                continue
            those = (other for other in logs if _is_wanted(name, wanted[other.folder]))
            lines = [line for other in those for line in other.records_of(mod)]
            # The trace and its time: the rest is the same in all of them.
            different = {_text(line.record[:2]): line for line in lines}.values()
            for line in sorted(different, key=lambda line: line.seconds)[:most]:
                new.add_record(mod, line.record)


def _is_wanted(name: str, wanted: set[str] | None) -> bool:
    return wanted is None or name in wanted


def _add_lines(
    new: TuningLog,
    logs: Sequence[TuningLog],
    most: int | None,
    wanted: Mapping[Path, set[str] | None],
) -> None:
    """On measurements and failures, as far as they are about what is kept."""
    known = set()
    kept = {} if most is None else _cycles_by_layer(new)
    for log in logs:
        names = wanted[log.folder]
        for entry in log.known_measurements:
            is_kept = _is_wanted(entry["task"], names)
            is_kept &= most is None or entry["cycles"] in kept.get(entry["task"], ())
            if is_kept and _text(entry) not in known:
                known.add(_text(entry))
                new.add_measurement(entry)
        for entry in log.known_failures if most is None else ():
            if _is_wanted(entry["task"], names) and _text(entry) not in known:
                known.add(_text(entry))
                new.add_failure(entry)


def _cycles_by_layer(log: TuningLog) -> dict[str, set[int]]:
    clock_hz = log.header.device_numbers["clock_khz"] * 1e3
    return {
        operator_of(mod).name: {round(line.seconds * clock_hz) for line in log.records_of(mod)}
        for mod in log.modules
    }


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
