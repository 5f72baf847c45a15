"""Tuning logs in memory, and ways to damage them, for hypothesis."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st
from tvm.ir import IRModule

from npu_target.device import preset
from npu_target.tuning.header import Header
from npu_target.tuning.log import open_log
from npu_target.tuning.log_files import (
    CHECKS,
    CHECKSUMS_FILE,
    RECORDS_FILE,
    WORKLOADS_FILE,
    checksum_entry,
)

CONFIG = preset("gemmini-8x8")
HEADER = Header.of(CONFIG, "resnet18", "tune.py")
DATA_FILES = list(CHECKS)
ALL_FILES = [*DATA_FILES, CHECKSUMS_FILE]


class Files(dict[str, bytes]):
    """By name, the bytes of each file."""

    def __repr__(self) -> str:
        return f"Files of {', '.join(self)}"


Damage = Callable[[Files], None]

_GARBAGE = [
    b"\0" * 40,
    b"\xff\xfe\x80",
    b"\n",
    b"\r\n",
    b"[[[[[[",
    b'"',
    b'{"task":"x","cycles":1,"program":null}\n',
    b'{"task":"x","kind":"k","message":"m","program":null}\n',
    b"[0,[[],[1e-09],null,[]]]\n",
    b'["1", "bm90IGJhc2U2NA=="]\n',
    b"9" * 5000,
]


def make_files(folder: Path) -> Files:
    """The files of whole logs, made in `folder`: four workloads, twelve records, three failures;
    no line is there twice."""
    mods = [IRModule({}, attrs={"number": number}) for number in range(4)]
    with open_log(folder, HEADER) as log:
        for number in range(12):
            record = [[[["a"]], [["b", [number]]]], [1e-6 * (number + 1)], None, []]
            entry = {"task": f"t{number % 4}", "cycles": number, "program": "p", "trial": number}
            log.add_json(mods[number % 4], record, entry)
        for number in range(3):
            fields = {"task": "t0", "kind": "wrong_result", "message": "no", "program": None}
            log.add_failure({**fields, "time": number})
    return Files({name: (folder / name).read_bytes() for name in ALL_FILES})


def write_files(folder: Path, files: Files) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    HEADER.write(folder)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def lines_of(files: Files, name: str) -> list[bytes]:
    return [line.strip() for line in files.get(name, b"").split(b"\n") if line.strip()]


def bound_records(files: Files) -> list[tuple[bytes, str]]:
    """Each record with its workload's line in place of the index."""
    workloads = lines_of(files, WORKLOADS_FILE)
    records = (json.loads(line) for line in lines_of(files, RECORDS_FILE))
    return [(workloads[index], json.dumps(record)) for index, record in records]


def intact(files: Files, damaged: Files) -> dict[str, list[bytes]]:
    """By file, the lines that are still there together with their checksums."""
    entries = set(lines_of(damaged, CHECKSUMS_FILE))
    return {
        name: [
            line
            for number, line in enumerate(lines_of(files, name), start=1)
            if line in set(lines_of(damaged, name))
            and checksum_entry(name, number, line) in entries
        ]
        for name in DATA_FILES
    }


def flips(names: list[str]) -> st.SearchStrategy[Damage]:
    """One flipped bit."""

    def make(name: str, at: float, bit: int) -> Damage:
        def damage(files: Files) -> None:
            data = bytearray(files.get(name, b""))
            if data:
                data[int(at * len(data))] ^= 1 << bit
                files[name] = bytes(data)

        return damage

    return st.builds(make, st.sampled_from(names), _FRACTION, st.integers(0, 7))


def line_changes(names: list[str]) -> st.SearchStrategy[Damage]:
    """A line that is deleted, repeated somewhere, or exchanged with another."""

    def make(name: str, kind: str, at: float, to: float) -> Damage:
        def damage(files: Files) -> None:
            lines = files.get(name, b"").splitlines(keepends=True)
            if not lines:
                return
            first, second = int(at * len(lines)), int(to * len(lines))
            if kind == "delete":
                del lines[first]
            elif kind == "repeat":
                lines.insert(second, lines[first])
            else:
                lines[first], lines[second] = lines[second], lines[first]
            files[name] = b"".join(lines)

        return damage

    kinds = st.sampled_from(["delete", "repeat", "exchange"])
    return st.builds(make, st.sampled_from(names), kinds, _FRACTION, _FRACTION)


def byte_changes(names: list[str]) -> st.SearchStrategy[Damage]:
    """A file that is cut off, has garbage inside or over it, is empty, or is gone."""

    def make(name: str, kind: str, at: float, garbage: bytes) -> Damage:
        def damage(files: Files) -> None:
            data = files.get(name, b"")
            place = int(at * len(data))
            if kind == "gone":
                files.pop(name, None)
            elif kind == "empty":
                files[name] = b""
            elif kind == "cut":
                files[name] = data[:place]
            else:
                rest = data[place:] if kind == "insert" else data[place + len(garbage) :]
                files[name] = data[:place] + garbage + rest

        return damage

    kinds = st.sampled_from(["cut", "insert", "insert", "overwrite", "overwrite", "empty", "gone"])
    garbage = st.sampled_from(_GARBAGE) | st.binary(min_size=1, max_size=80)
    return st.builds(make, st.sampled_from(names), kinds, _FRACTION, garbage)


def any_damage(names: list[str]) -> st.SearchStrategy[list[Damage]]:
    one = st.one_of(flips(names), line_changes(names), byte_changes(names))
    return st.lists(one, min_size=1, max_size=5)


_FRACTION = st.floats(0, 1, exclude_max=True)
