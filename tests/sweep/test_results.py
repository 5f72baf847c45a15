"""Files of a sweep's results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.sweep.results import DeviceResult, LayerCycles, ResultFiles
from npu_target.tuning.errors import TuningError

CONFIG = preset("gemmini-16x16")
RESULT = DeviceResult(
    CONFIG.name, {"dim": 16}, 0.8, 500_000, 256, (LayerCycles("matmul", 2, 4096, 80, 64),)
)


def test_sums() -> None:
    assert (RESULT.cycles, RESULT.macs, RESULT.milliseconds) == (128, 8192, 128 / 500_000)
    assert RESULT.utilization == 8192 / (128 * 256)


def test_what_was_saved_is_there(tmp_path: Path) -> None:
    files = ResultFiles(tmp_path / "new" / "folder", {"model": "tiny"})
    assert files.load(CONFIG) is None
    files.check_can_write()
    files.save(CONFIG, RESULT)
    assert files.load(CONFIG) == RESULT


def test_results_of_another_sweep_are_not_lost(tmp_path: Path) -> None:
    ResultFiles(tmp_path, {"model": "tiny"}).save(CONFIG, RESULT)
    with pytest.raises(TuningError, match="another sweep"):
        ResultFiles(tmp_path, {"model": "large"}).load(CONFIG)
    with pytest.raises(TuningError, match="another sweep"):
        ResultFiles(tmp_path, {"model": "tiny"}).load(replace(CONFIG, bus_bytes=8))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_counts_as_none(tmp_path: Path, data: st.DataObject) -> None:
    files = ResultFiles(tmp_path, {"model": "tiny"})
    files.save(CONFIG, RESULT)
    (path,) = tmp_path.glob("*.result")
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    path.write_bytes(content)
    assert files.load(CONFIG) is None


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(TuningError, match="cannot be written"):
        ResultFiles(tmp_path / "file", {}).save(CONFIG, RESULT)
