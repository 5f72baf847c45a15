"""What packed weights gain: schedules with the mark taken off, and operators that may not pack."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_runs import check_schedule

from benchmarks import packing_report
from benchmarks.packing_report import Gain, as_they_are, table, unpacked
from npu_target.device import preset
from npu_target.passes.packings import packings
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Conv2d, Matmul

DEVICE = preset("gemmini-16x16")
LAYERS = [
    Matmul(batch=1, m=20, k=64, n=100),
    Conv2d(1, 6, 6, 32, 48, 3, 3, strides=(1, 1), pad=(1, 1, 1, 1), scale=0.003),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_a_schedule_without_its_mark_is_the_same_layer_with_weights_as_they_are(layer):
    packed = default_schedule(layer, DEVICE)
    assert packings(packed.mod["main"], DEVICE)
    plain = unpacked(packed)
    assert plain is not None
    assert not packings(plain.mod["main"], DEVICE)
    check_schedule(layer, plain, DEVICE, seed=3)
    assert unpacked(plain) is None
    assert packings(packed.mod["main"], DEVICE), "it is left as it was"


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_an_operator_whose_weights_stay_has_a_default_that_does_not_pack(layer):
    default = default_schedule(as_they_are(layer), DEVICE)
    assert not packings(default.mod["main"], DEVICE)
    check_schedule(layer, default, DEVICE, seed=4)
    assert packings(default_schedule(layer, DEVICE).mod["main"], DEVICE), "the operator's own packs"


def test_a_gain_is_to_the_better_of_those_that_do_not_pack():
    found = [Gain("one", 2, 90, 200, 100), Gain("two", 1, 50, 50, 80)]
    assert [gain.change for gain in found] == pytest.approx([-0.1, 0])
    text = table("model", found)
    assert "| one | 2 | 100 | 200 | 90 | -10.0% |" in text
    assert "Together 230 cycles packed, 250 by the better without: -8.00%." in text
    assert "Together" not in table("model", [])


def test_no_logs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "r.md"
    assert packing_report.main(["--logs", str(tmp_path), "--output", str(output)]) == 1
    assert "has no model's logs" in capsys.readouterr().err
    assert not output.exists()
