from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given, settings
from tuning.damage import ALL_FILES, DATA_FILES, HEADER, Files, flips, make_files, write_files
from tvm.ir import IRModule

from npu_target.tuning.errors import LogError
from npu_target.tuning.log import open_log, read_log
from npu_target.tuning.log_files import (
    CHECKS,
    CHECKSUMS_FILE,
    FAILURES_FILE,
    MEASUREMENTS_FILE,
    RECORDS_FILE,
    WORKLOADS_FILE,
    check_record,
    checksum,
    checksum_entry,
    read_files,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Files:
    return make_files(tmp_path_factory.mktemp("whole") / "log")


@pytest.fixture
def folder(whole, tmp_path):
    write_files(tmp_path / "log", whole)
    return tmp_path / "log"


def test_whole_files_have_no_problems(folder):
    files = read_files(folder)
    assert not files.problems
    assert {name: len(lines) for name, lines in files.lines.items()} == dict(
        zip(CHECKS, (4, 12, 12, 3), strict=True)
    )
    assert all(set(files.checksums[n]) == set(range(1, len(files.lines[n]) + 1)) for n in CHECKS)


def test_a_checksum_is_of_what_is_in_a_line():
    assert checksum(b"[1]") == checksum(b"[1]\r\n") == checksum(b"  [1]")
    assert checksum(b"[1]") != checksum(b"[2]") != checksum(b"[ 2]")
    assert len(checksum(b"")) == 16


@settings(max_examples=200, deadline=None)
@given(damage=flips(ALL_FILES))
def test_a_flipped_bit_is_found(whole, tmp_path_factory, damage):
    damaged = Files(whole)
    damage(damaged)
    (name,) = (name for name in ALL_FILES if damaged[name] != whole[name])
    if [x.strip() for x in damaged[name].split(b"\n")] == [
        x.strip() for x in whole[name].split(b"\n")
    ]:
        return  # a blank instead of a line's end
    folder = tmp_path_factory.mktemp("flip")
    write_files(folder, damaged)
    with pytest.raises(LogError, match=rf"{name}: line \d+ .* repair"):
        read_log(folder, HEADER)


@pytest.mark.parametrize(
    ("name", "old", "new", "line"),
    [
        (RECORDS_FILE, "[2e-06]", "[2e-07]", 2),  # a faster time
        (RECORDS_FILE, "[2,[[[[", "[3,[[[[", 3),  # another workload
        (MEASUREMENTS_FILE, '"cycles":5', '"cycles":4', 6),
        (FAILURES_FILE, "wrong_result", "wrong_resulu", 1),
    ],
)
def test_flips_that_stay_valid_json_are_found(folder, name, old, new, line):
    path = folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(LogError) as caught:
        read_log(folder, HEADER)
    assert str(caught.value) == (
        f"{path}: line {line} does not match its checksum; keep what is readable with: "
        f"npu-target logs repair {folder}"
    )


def test_a_failure_without_a_kind_is_told(folder):
    path = folder / FAILURES_FILE
    lines = path.read_text().splitlines()
    fields = json.loads(lines[1])
    del fields["kind"]
    path.write_text("\n".join([lines[0], json.dumps(fields), lines[2], ""]))
    with pytest.raises(LogError, match=r"failures\.jsonl: line 2 has no usable 'kind'"):
        read_log(folder, HEADER)


@pytest.mark.parametrize("name", DATA_FILES)
@pytest.mark.parametrize("how", ["gone", "empty", "half"])
def test_missing_lines_are_told(folder, whole, name, how):
    path = folder / name
    lines = whole[name].splitlines(keepends=True)
    left = len(lines) // 2 if how == "half" else 0
    path.write_bytes(b"".join(lines[:left]))
    if how == "gone":
        path.unlink()
    with pytest.raises(LogError, match=f"{name}: line {left + 1} is missing"):
        read_log(folder, HEADER)


@pytest.mark.parametrize("name", [RECORDS_FILE, MEASUREMENTS_FILE, FAILURES_FILE])
def test_a_run_that_dies_between_a_checksum_and_its_line_loses_nothing(folder, whole, name):
    """Nor does one that goes on after it."""
    never = checksum_entry(name, len(whole[name].splitlines()) + 1, b"never written")
    with open(folder / CHECKSUMS_FILE, "ab") as file:
        file.write(never + b"\n")
    read_log(folder, HEADER)
    add_one_of_each(folder)
    log = read_log(folder, HEADER)
    assert (len(log.measurements), len(log.failures)) == (13, 4)


def add_one_of_each(folder):
    with open_log(folder, HEADER) as log:
        record = [[[], []], [1e-9], None, []]
        entry = {"task": "t", "cycles": 1, "program": None}
        log.add_json(IRModule({}, attrs={"number": 99}), record, entry)
        log.add_failure({"task": "t", "kind": "k", "message": "m", "program": None})


def test_a_line_without_its_checksum_is_not_trusted(folder, whole):
    entries = whole[CHECKSUMS_FILE].splitlines(keepends=True)
    (folder / CHECKSUMS_FILE).write_bytes(b"".join(entries[:-1]))
    with pytest.raises(LogError, match=r"failures\.jsonl: line 3 has no checksum; .* repair"):
        read_log(folder, HEADER)


def test_lines_of_another_hand_are_not_trusted(folder):
    """Such as those of MetaSchedule's own class."""
    with open(folder / RECORDS_FILE, "a") as file:
        file.write("[0,[[[],[]],[1e-09],null,[]]]\n")
    with pytest.raises(LogError, match="line 13 has no checksum"):
        read_log(folder, HEADER)


def test_a_checksum_of_another_form_is_told(folder):
    with open(folder / CHECKSUMS_FILE, "a") as file:
        file.write('[["a"],1,"",""]\n')
    with pytest.raises(LogError, match="line 32 is not a checksum of a line"):
        read_log(folder, HEADER)


def test_a_reader_beside_a_writer_sees_whole_logs(folder):
    done = threading.Event()

    def write() -> None:
        for _ in range(30):
            add_one_of_each(folder)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        assert read_files(folder).problems == []
    writer.join()
    assert len(read_log(folder, HEADER).measurements) == 42


@pytest.mark.parametrize(
    "line",
    [
        [0],
        [-1, [[], [1.0], None, []]],
        ["0", [[], [1.0], None, []]],
        [0, [None, [1.0], None, []]],
        [0, [[], ["1"], None, []]],
        [0, [[], [10**400], None, []]],
        [0, [[], [float("nan")], None, []]],
        [0, [[], [1.0], None]],
        {},
        None,
    ],
)
def test_what_is_no_record(line):
    assert check_record([0, [[], [1.0], None, []]]) is None
    assert check_record(line) == "is not a tuning record"


def test_workloads_are_written_before_what_needs_them():
    assert list(CHECKS)[:2] == [WORKLOADS_FILE, RECORDS_FILE]
