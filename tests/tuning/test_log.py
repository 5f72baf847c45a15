from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import signal
import time
from typing import Any

import pytest
import tvm_ffi
from tvm.s_tir import meta_schedule as ms

from npu_target.device import preset
from npu_target.schedule_rules.traces import to_plain
from npu_target.tuning.errors import LogError
from npu_target.tuning.header import HEADER_FILE, Header
from npu_target.tuning.log import (
    FAILURES_FILE,
    MEASUREMENTS_FILE,
    RECORDS_FILE,
    WORKLOADS_FILE,
    log_folder,
    open_log,
    read_log,
)

CONFIG = preset("gemmini-16x16")
HEADER = Header.of(CONFIG, "resnet18", "tune.py --model resnet18")
FAILURE = {"task": "task0", "kind": "wrong_result", "message": "no", "program": None}


def entry(task: str) -> dict[str, Any]:
    return {"task": task, "cycles": 1, "program": None}


@pytest.fixture
def folder(tmp_path, workloads, make_record):
    """A log of two workloads, three records and one failure."""
    path = tmp_path / "device" / "model"
    with open_log(path, HEADER) as log:
        for index, inner, seconds in ((0, 4, 2e-5), (1, 8, 5e-5), (0, 16, 1e-5)):
            record = make_record(workloads[index], inner, seconds)
            log.add(record, entry(f"task{index}"))
        log.add_failure(FAILURE)
    return path


def test_what_is_added_is_read_again_fastest_first(folder, workloads):
    log = read_log(folder, HEADER)
    assert [r.seconds for r in log.records_of(workloads[0])] == [1e-5, 2e-5]
    best = log.best(workloads[0])
    assert [int(d) for d in next(iter(best.trace.decisions.values()))] == [4, 16]
    assert tvm_ffi.structural_equal(best.workload.mod, workloads[0])
    assert [m["task"] for m in log.measurements] == ["task0", "task1", "task0"]
    assert log.failures[0]["kind"] == "wrong_result"


def test_a_workload_without_records_has_no_best(tmp_path, workloads):
    with open_log(tmp_path / "new", HEADER) as log:
        assert log.best(workloads[0]) is None


def test_the_files_are_metaschedule_databases(folder, workloads):
    database = ms.database.JSONDatabase(work_dir=str(folder), allow_missing=False)
    assert len(database) == 3
    record = database.query_tuning_record(workloads[0], None, "main")
    assert float(record.run_secs[0]) == pytest.approx(1e-5)


def test_every_record_is_on_disk_when_add_returns(tmp_path, workloads, make_record):
    folder = tmp_path / "log"

    def add_then_die():
        with open_log(folder, HEADER) as log:
            log.add(make_record(workloads[0], 4, 1e-5), entry("t"))
            os.kill(os.getpid(), signal.SIGKILL)

    process = multiprocessing.get_context("fork").Process(target=add_then_die)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert len(read_log(folder, HEADER).records_of(workloads[0])) == 1


@pytest.mark.parametrize("name", [RECORDS_FILE, WORKLOADS_FILE, MEASUREMENTS_FILE, FAILURES_FILE])
@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: text[:-9], "is cut off"),
        (lambda text: "\x00\x01" + text, "line 1 is not JSON"),
        (lambda text: text + "[1]\n", "line [0-9] is not"),
    ],
    ids=["cut", "noise", "other"],
)
def test_damage_is_named_with_its_line_and_its_cure(folder, name, damage, says):
    path = folder / name
    path.write_text(damage(path.read_text()))
    with pytest.raises(LogError, match=says) as caught:
        read_log(folder, HEADER)
    assert name in str(caught.value)
    assert f"npu-target logs repair {folder}" in str(caught.value)


def test_a_record_without_its_workload_is_damage(folder):
    path = folder / WORKLOADS_FILE
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    with pytest.raises(LogError, match="line 2 has no workload"):
        read_log(folder, HEADER)


def test_a_record_that_cannot_be_replayed_is_no_damage(tmp_path, workloads, make_record):
    """Its schedule may need what this process does not know."""
    record = to_plain(make_record(workloads[0], 4, 1e-5).as_json())
    record[0][0][0][0] = "Unknown"
    with open_log(tmp_path / "log", HEADER) as log:
        log.add_json(workloads[0], record, entry("t"))
    log = read_log(tmp_path / "log", HEADER)
    with pytest.raises(LogError, match=r"line 1 is as it was .*logs remeasure"):
        log.best(workloads[0])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"device": "other", "device_hash": "0" * 16}, "logs of another device: other"),
        ({"model": "mobilenet"}, "logs of model 'mobilenet', needed 'resnet18'"),
        ({"npu_target": "0.0.1"}, "made with npu_target 0.0.1"),
        ({"tvm": "0.26"}, "made with tvm 0.26"),
    ],
)
def test_logs_made_otherwise_are_refused(folder, change, says):
    dataclasses.replace(HEADER, **change).write(folder)
    with pytest.raises(LogError, match=says):
        read_log(folder, HEADER)


def test_the_message_on_another_device_names_what_differs(folder):
    smaller = Header.of(CONFIG.replace(acc_banks=4, clock_khz=1000), "resnet18", "")
    smaller.write(folder)
    with pytest.raises(LogError, match=r"acc_banks 4 \(needed 2\), clock_khz 1000 \(needed"):
        read_log(folder, HEADER)


def test_a_renamed_device_of_equal_numbers_is_the_same(folder):
    Header.of(CONFIG.replace(name="mine"), "resnet18", "").write(folder)
    read_log(folder, HEADER)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 99}'])
def test_a_damaged_header_says_what_to_do(folder, text):
    (folder / HEADER_FILE).write_text(text)
    with pytest.raises(LogError, match=r"header\.json"):
        read_log(folder, HEADER)


@pytest.mark.parametrize("name", ["device", "model"])
def test_a_header_with_a_name_that_leads_elsewhere_is_refused(folder, name):
    fields = {**dataclasses.asdict(HEADER), name: "../../evil"}
    (folder / HEADER_FILE).write_text(json.dumps(fields))
    with pytest.raises(
        LogError, match=rf"header\.json: the {name}'s name is '../../evil', must be"
    ):
        read_log(folder, HEADER)


def test_the_folder_of_a_header(tmp_path):
    assert log_folder(tmp_path, HEADER) == tmp_path / "gemmini-16x16" / "resnet18"
    with pytest.raises(LogError, match="the model's name is"):
        Header.of(CONFIG, "../evil", "")


def test_what_would_be_refused_later_is_not_written(folder):
    before = (folder / FAILURES_FILE).read_bytes()
    with open_log(folder, HEADER) as log:
        with pytest.raises(AssertionError, match="has no usable 'kind'"):
            log.add_failure({"task": "task0", "message": "no", "program": None})
    assert (folder / FAILURES_FILE).read_bytes() == before
    read_log(folder, HEADER)


def test_a_missing_header_says_how_to_restore_it(folder):
    (folder / HEADER_FILE).unlink()
    with pytest.raises(LogError, match=r"repair .* --device NAME --model MODEL"):
        with open_log(folder, HEADER):
            pass


def test_a_header_lacking_a_field_is_refused(folder):
    fields = json.loads((folder / HEADER_FILE).read_text())
    del fields["device_hash"]
    (folder / HEADER_FILE).write_text(json.dumps(fields))
    with pytest.raises(LogError, match="no usable 'device_hash'"):
        read_log(folder, HEADER)


def test_logs_that_do_not_exist(tmp_path):
    with pytest.raises(LogError, match="does not exist; tune first"):
        read_log(tmp_path / "nowhere", HEADER)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LogError, match="cannot be written: Not a directory; give another folder"):
        with open_log(tmp_path / "file" / "log", HEADER):
            pass


def test_two_runs_do_not_write_to_one_folder(folder):
    with open_log(folder, HEADER):
        with pytest.raises(LogError, match="another run is writing"):
            with open_log(folder, HEADER):
                pass
    with open_log(folder, HEADER):
        pass


def test_no_space_left_is_an_error_and_leaves_whole_lines(folder, workloads, make_record):
    """A limit on the file's size stands in for a full disk."""
    import resource

    def fill():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = (folder / RECORDS_FILE).stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, size + 100))
        with open_log(folder, HEADER) as log:
            try:
                log.add(make_record(workloads[0], 2, 1e-6), entry("t"))
            except LogError as error:
                os._exit(7 if "cannot be written" in str(error) else 8)
        os._exit(9)

    process = multiprocessing.get_context("fork").Process(target=fill)
    process.start()
    process.join(60)
    assert process.exitcode == 7
    assert len(read_log(folder, HEADER).records_of(workloads[0])) == 2


def test_adding_is_quick(tmp_path, workloads, make_record):
    record = make_record(workloads[0], 4, 1e-5)
    with open_log(tmp_path / "log", HEADER) as log:
        start = time.monotonic()
        for _ in range(200):
            log.add(record, entry("t"))
        assert time.monotonic() - start < 2
