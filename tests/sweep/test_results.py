"""Files of a sweep's results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.sweep.devices import Point
from npu_target.sweep.results import DeviceResult, LayerCycles, ResultFiles
from npu_target.tuning.errors import TuningError
from npu_target.tuning.network import load_network

CONFIG = preset("gemmini-16x16")
RESULT = DeviceResult(
    CONFIG.name, {"dim": 16}, 0.8, 500_000, 256, 6000, 3, (LayerCycles("matmul", 2, 4096, 80, 64),)
)


def test_sums() -> None:
    assert (RESULT.cycles, RESULT.milliseconds) == (128, 128 / 500_000)
    # Of 8192 products 2192 are with the zeros that the layers are padded with.
    assert RESULT.utilization == 6000 / (128 * 256)


@pytest.mark.usefixtures("tiny_model")
def test_what_layers_are_padded_with_is_no_work_of_theirs() -> None:
    """VTA takes channels in blocks of 16, Gemmini any; the network begins with 3."""
    vta, gemmini = (preset(name) for name in ("vta-1x16x16", "gemmini-16x16"))
    found, padded = [], []
    for config in (vta, gemmini):
        partitioned = load_network("tiny", config).partitioned
        result = DeviceResult.of(config, Point({}, config), partitioned, ())
        assert 0 < result.host_operations < len(partitioned.decisions)
        found.append(result.macs)
        padded.append(sum(region.operator.macs for region in partitioned.regions))
    assert found[0] == found[1] == padded[1] < padded[0]


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
