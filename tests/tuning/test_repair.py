from __future__ import annotations

import pytest

from npu_target.config import NpuConfig
from npu_target.tuning.__main__ import main
from npu_target.tuning.errors import LogError
from npu_target.tuning.header import HEADER_FILE, Header
from npu_target.tuning.log import RECORDS_FILE, WORKLOADS_FILE, open_log, read_log
from npu_target.tuning.repair import repair

HEADER = Header.of(NpuConfig.preset("gemmini-8x8"), "resnet18", "tune.py")


@pytest.fixture
def folder(tmp_path, workloads, make_record):
    with open_log(tmp_path / "log", HEADER) as log:
        for index, inner, seconds in ((0, 4, 2e-5), (1, 8, 5e-5), (0, 16, 1e-5), (1, 2, 3e-5)):
            log.add(make_record(workloads[index], inner, seconds), {"task": f"{index}"})
    return tmp_path / "log"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_whole_logs_stay_as_they_are(folder):
    before = contents(folder)
    assert all(result.dropped == 0 for result in repair(folder))
    assert contents(folder) == before


def test_a_cut_off_record_goes_and_the_others_stay(folder, workloads):
    path = folder / RECORDS_FILE
    damaged = path.read_bytes()[:-20]
    path.write_bytes(damaged)
    assert main(["repair", str(folder)]) == 0
    log = read_log(folder, HEADER)
    assert [r.seconds for r in log.records_of(workloads[1])] == [5e-5]
    assert len(log.records_of(workloads[0])) == 2
    assert (folder / (RECORDS_FILE + ".broken")).read_bytes() == damaged


def test_a_record_that_lacks_only_its_line_end_is_kept(folder, workloads):
    path = folder / RECORDS_FILE
    path.write_bytes(path.read_bytes().rstrip())
    repair(folder)
    assert len(read_log(folder, HEADER).records_of(workloads[1])) == 2


@pytest.mark.parametrize("damage", ["x" * 50 + "\n", '["1", "bm90IGJhc2U2NA=="]\n'])
def test_records_move_along_when_a_workload_is_lost(folder, workloads, damage):
    path = folder / WORKLOADS_FILE
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(damage + lines[1])
    repair(folder)
    log = read_log(folder, HEADER)
    assert not log.records_of(workloads[0])
    assert [r.seconds for r in log.records_of(workloads[1])] == [3e-5, 5e-5]
    assert log.best(workloads[1]) is not None


def test_a_trace_that_cannot_be_replayed_goes(folder, workloads):
    path = folder / RECORDS_FILE
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0].replace("compute", "comdute") + "".join(lines[1:]))
    repair(folder)
    assert [r.seconds for r in read_log(folder, HEADER).records_of(workloads[0])] == [1e-5]


def test_a_lost_header_is_restored_when_device_and_model_are_given(folder):
    (folder / HEADER_FILE).write_text("{")
    with pytest.raises(LogError):
        repair(folder)
    assert main(["repair", str(folder), "--device", "gemmini-8x8", "--model", "resnet18"]) == 0
    read_log(folder, HEADER)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "nowhere is not a folder of tuning logs"),
        (["{folder}", "--device", "abacus"], "no device is called 'abacus'"),
    ],
)
def test_wrong_input_is_one_line(folder, capsys, arguments, says):
    assert main(["repair", *[text.format(folder=folder) for text in arguments]]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and says in error
