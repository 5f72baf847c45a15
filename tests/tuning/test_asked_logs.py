"""Which logs are read: one's own over those that come with the package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from npu_target.device import preset
from npu_target.tuning import asked_logs as module
from npu_target.tuning.asked_logs import asked_logs
from npu_target.tuning.errors import LogError
from npu_target.tuning.header import Header
from npu_target.tuning.log import log_folder, open_log

CONFIG = preset("gemmini-16x16")
HEADER = Header.of(CONFIG, "model", "")
ENTRY = {"task": "t", "cycles": 1, "program": "p"}


def write(logs: Path, workloads, make_record, *records: tuple[int, int, float]) -> Path:
    with open_log(log_folder(logs, HEADER), HEADER) as log:
        for index, inner, seconds in records:
            log.add(make_record(workloads[index], inner, seconds), ENTRY)
    return logs


@pytest.fixture
def shipped(tmp_path, workloads, make_record, monkeypatch) -> Path:
    """Logs of the first of two workloads, of two schedules."""
    logs = write(tmp_path / "shipped", workloads, make_record, (0, 4, 2e-5), (0, 8, 4e-5))
    monkeypatch.setattr(module, "shipped_logs", lambda: logs)
    monkeypatch.setattr(module, "own_logs", lambda: tmp_path / "user")
    return logs


def asked(logs: Path | str | None = None, header: Header = HEADER, own_only: bool = False):
    return asked_logs(header, logs, own_only)


def test_without_any_of_ones_own_the_shipped_ones_are_read(shipped, workloads):
    log = asked().read()
    assert [record.seconds for record in log.records_of(workloads[0])] == [2e-5, 4e-5]
    assert asked(own_only=True).read() is None
    assert asked("none").read() is None


def test_ones_own_win_where_they_are_better(shipped, tmp_path, workloads, make_record):
    own = write(tmp_path / "own", workloads, make_record, (0, 16, 1e-5), (1, 4, 3e-5), (0, 2, 3e-5))
    log = asked(own).read()
    records = log.records_of(workloads[0])
    assert [record.seconds for record in records] == [1e-5, 2e-5, 3e-5, 4e-5]
    assert [record.folder.parts[-3] for record in records] == ["own", "shipped", "own", "shipped"]
    for record, inner in zip(records, (16, 4, 2, 8), strict=True):
        decisions = next(iter(log.parse(record).trace.decisions.values()))
        assert int(decisions[1]) == inner, "each from its own folder"
    assert [record.seconds for record in log.records_of(workloads[1])] == [3e-5]
    assert log.trials == 3 and len(log.known_measurements) == 5
    assert len(asked(own, own_only=True).read().records_of(workloads[0])) == 2


def test_what_is_measured_goes_to_ones_own(shipped, workloads, make_record):
    before = {path: path.read_bytes() for path in shipped.rglob("*") if path.is_file()}
    wanted = asked()
    with open_log(wanted.folder, HEADER, wanted.shipped) as log:
        assert log.has_records(workloads[0]) and not log.has_records(workloads[1])
        log.add(make_record(workloads[0], 16, 1e-5), ENTRY)
        assert float(log.best(workloads[0]).run_secs[0]) == pytest.approx(1e-5)
    assert {path: path.read_bytes() for path in before} == before
    assert "user" in wanted.folder.parts
    assert len(asked().read().records_of(workloads[0])) == 3


def test_shipped_ones_of_another_device_or_pipeline_do_not_count(shipped):
    other = Header.of(CONFIG.replace(clock_khz=1), "model", "")
    assert asked(header=other).read() is None
    with pytest.raises(LogError, match=r"no tuning logs of model on .*@board .* another --runner"):
        asked(header=Header.of(CONFIG, "model", "", runner="board")).read()
    assert asked(header=Header.of(CONFIG, "another", "")).read() is None


def test_a_folder_given_twice_is_read_once(shipped, workloads):
    assert len(asked(shipped).read().records_of(workloads[0])) == 2


def test_a_folder_that_is_named_has_to_be_there(shipped, tmp_path):
    with pytest.raises(LogError, match=r"typo/gemmini-16x16/model does not exist; there are no"):
        asked(tmp_path / "typo").read()
    (tmp_path / "others").mkdir()
    shutil.copytree(shipped / CONFIG.name / "model", tmp_path / "others" / CONFIG.name / "other")
    with pytest.raises(LogError, match="has gemmini-16x16/other; tune first, or give another"):
        asked(tmp_path / "others").read()


def test_where_there_have_to_be_some(shipped):
    asked().need()
    with pytest.raises(LogError, match=r"no tuning logs of model on gemmini-16x16 \(none\); tune"):
        asked("none").need()
