"""Logs whose times are made up, measured anew on a device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import logs as main
from tvm.ir import IRModule
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from npu_target.device import preset
from npu_target.target import make_target
from npu_target.topi import Add
from npu_target.tuning import remeasure
from npu_target.tuning.errors import LogError
from npu_target.tuning.header import Header
from npu_target.tuning.log import RECORDS_FILE, open_log, read_log
from npu_target.tuning.schedules import default_of
from npu_target.tuning.workload import workload_module

CONFIG = preset("gemmini-8x8")
HEADER = Header.of(CONFIG, "model", "tune.py")
OPERATORS = [Add(rows, 16, CONFIG.dim).canonical() for rows in (16, 32)]


def record_of(schedule: Schedule, operator: Add, seconds: float) -> ms.database.TuningRecord:
    arguments = ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
    workload = ms.database.Workload(workload_module(operator, CONFIG))
    return ms.database.TuningRecord(
        schedule.trace, workload, [seconds], make_target(CONFIG), arguments
    )


@pytest.fixture
def folder(tmp_path):
    """The default schedules with a time that cannot be, and what is no schedule at all."""
    with open_log(tmp_path / "log", HEADER) as log:
        for operator in OPERATORS:
            unscheduled = Schedule(workload_module(operator, CONFIG))
            for schedule in (default_of(operator, CONFIG), unscheduled):
                log.add(
                    record_of(schedule, operator, 1e-9),
                    {"task": operator.name, "cycles": 1, "program": None},
                )
    return tmp_path / "log"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.long
@pytest.mark.rpc
def test_times_become_true_and_what_cannot_be_compiled_goes(folder, capsys):
    assert main(["remeasure", str(folder), "--servers", "1"]) == 0
    log, said = read_log(folder, HEADER), capsys.readouterr().out
    for operator in OPERATORS:
        (record,) = log.records_of(workload_module(operator, CONFIG))
        cycles = round(record.seconds * CONFIG.clock_khz * 1e3)
        assert cycles > operator.rows
        assert f"{operator.name}: 0 -> {cycles:,} cycles, 1 schedules kept, 1 dropped" in said
        assert [m["cycles"] for m in log.measurements if m["task"] == operator.name] == [cycles]
    assert log.header.command == "tune.py && npu-target logs remeasure log"
    assert [path.name for path in folder.parent.iterdir()] == ["log"]


@pytest.mark.long
@pytest.mark.rpc
def test_a_layer_of_another_form_goes(folder, capsys):
    """Its operator had other attributes when it was tuned."""
    mod = workload_module(OPERATORS[0], CONFIG)
    old = json.dumps({"op": "add", "attrs": {"rows": 16, "cols": 16, "scale_a": 0.5}})
    mod = IRModule({"main": mod["main"].with_attr("npu.operator", old)})
    arguments = ms.arg_info.ArgInfo.from_entry_func(mod, remove_preproc=True)
    workload = ms.database.Workload(mod)
    trace = Schedule(mod).trace
    record = ms.database.TuningRecord(trace, workload, [1e-6], make_target(CONFIG), arguments)
    with open_log(folder, HEADER) as log:
        log.add(record, {"task": "old", "cycles": 500, "program": None})
    assert main(["remeasure", str(folder), "--servers", "1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "a layer of another form (add: " in said and "scale_a" in said
    assert "500 -> none is left cycles, 0 schedules kept, 1 dropped" in said
    assert len(read_log(folder, HEADER).workloads) == len(OPERATORS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["{folder}/nowhere"], "is not a folder of tuning logs"),
        (["{folder}", "--device", "gemmini-16x16"], "logs of another device"),
        (["{folder}", "--device", "tpu"], "tpu"),
    ],
)
def test_errors_change_nothing(folder, arguments, says, capsys):
    before = contents(folder)
    assert main(["remeasure", *[text.format(folder=folder) for text in arguments]]) == 1
    error = capsys.readouterr().err
    assert says in error and "Traceback" not in error
    assert contents(folder) == before


def test_damaged_logs_are_not_touched(folder, capsys):
    path = folder / RECORDS_FILE
    path.write_bytes(path.read_bytes()[:-20])
    before = path.read_bytes()
    assert main(["remeasure", str(folder)]) == 1
    assert "repair" in capsys.readouterr().err
    assert path.read_bytes() == before


def _is_in_the_way(monkeypatch, target):
    """A folder with a file comes to a place just before another is renamed to it."""
    rename = Path.rename

    def taken(path, place):
        if place == target and not target.exists():
            target.mkdir()
            (target / "of_another_run").touch()
        return rename(path, place)

    monkeypatch.setattr(Path, "rename", taken)


def test_logs_whose_place_is_taken_meanwhile_are_kept(folder, monkeypatch):
    old, new = contents(folder), folder.with_name("new")
    new.mkdir()
    _is_in_the_way(monkeypatch, folder)
    beside = folder.with_name(f"{folder.name}.before")
    with pytest.raises(LogError, match=f"cannot be replaced: .*it is in {beside}"):
        remeasure._replace(folder, new)
    assert contents(beside) == old


def test_a_rename_that_fails_is_taken_back(folder):
    old = contents(folder)
    with pytest.raises(LogError, match="cannot be replaced: No such file"):
        remeasure._replace(folder, folder.with_name("not_there"))
    assert contents(folder) == old and [path.name for path in folder.parent.iterdir()] == ["log"]


def test_a_folder_that_comes_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    target, new = tmp_path / "log", tmp_path / "new"
    new.mkdir()
    _is_in_the_way(monkeypatch, target)
    with pytest.raises(LogError, match="cannot be made, what was measured is lost"):
        remeasure._put(target, new)
    assert (target / "of_another_run").exists()


def test_what_an_ended_run_left_is_not_deleted(folder, capsys):
    left = folder.with_name(f"{folder.name}.before")
    left.mkdir()
    assert main(["remeasure", str(folder)]) == 1
    assert "move it back, or away" in " ".join(capsys.readouterr().err.split())
    assert left.exists()


def test_none_is_no_number_of_schedules(folder):
    with pytest.raises(SystemExit):
        main(["remeasure", str(folder), "--best", "0"])
