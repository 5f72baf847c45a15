"""The comparison's rows and table, on operators small enough to be quick."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from benchmarks import against_vendor, vendor_library
from benchmarks.against_vendor import (
    Unit,
    compare,
    print_rows,
    run_vendor,
    run_warm,
    totals,
    units_of,
)
from benchmarks.vendor_rtl import search_cycles
from npu_target.device import preset
from npu_target.devices.gemmini import GemminiConfig
from npu_target.topi import Conv2d, Matmul, MaxPool2d
from npu_target.tuning.errors import TuningError

CONFIG = GemminiConfig()
CONV = Conv2d(1, 12, 12, 3, 16, 3, 3, (1, 1), (1,) * 4, relu=True)
POOL = MaxPool2d(1, 12, 12, 16, 2, 2)
MATMUL = Matmul(1, 8, 16, 24, True, True, 0.01)


def test_a_pool_joins_the_convolution_before_it():
    units = units_of([CONV, POOL, MATMUL, CONV, MATMUL, POOL])
    found = [(unit.operator.op, unit.pool is not None, unit.count) for unit in units]
    assert found == [
        ("conv2d", True, 1),
        ("matmul", False, 2),
        ("conv2d", False, 1),
        ("max_pool2d", False, 1),
    ]


def test_rows_compare_both():
    fused, matmul, pool = compare(units_of([CONV, POOL, MATMUL, POOL]), CONFIG, None)
    assert fused.vendor and fused.vendor > CONV.macs / CONFIG.dim**2
    assert fused.default > matmul.default
    assert fused.tuned is None and fused.ours == fused.default
    assert fused.vendor_call == fused.vendor + search_cycles(1)
    assert matmul.vendor_call == matmul.vendor
    assert pool.vendor is None and "on the host" in pool.reason
    text = io.StringIO()
    print_rows(Console(file=text, width=140), [fused, matmul, pool], CONFIG)
    assert f"{fused.vendor:,}" in text.getvalue()
    assert "total of what both have" in text.getvalue()
    assert "the library runs max_pool2d on the host" in text.getvalue()
    assert totals([fused, matmul, pool]) == {
        "total_vendor_cycles": fused.vendor + matmul.vendor,
        "total_default_cycles": fused.default + matmul.default,
        "total_cycles": fused.ours + matmul.ours,
    }


@pytest.mark.parametrize("device", ["gemmini-16x16", "gemmini-8x8"])
def test_only_the_measured_device_has_rtl_figures(device):
    units = units_of([Matmul(1, 1, 512, 1000, True, False)])
    (row,) = compare(units, preset(device), None)
    if device == CONFIG.name:
        assert row.rtl == 58_000
        assert row.deviation == pytest.approx(row.vendor_call / row.rtl - 1)
    else:
        assert row.rtl is None and row.deviation is None


def test_the_second_run_of_a_dense_layer_is_near_the_rtl():
    (row,) = compare(units_of([Matmul(1, 1, 512, 1000, True, False)]), CONFIG, None)
    assert abs(row.deviation) < 0.12


def test_a_warm_run_is_faster():
    unit = Unit(Matmul(1, 1, 512, 512, False, False), None, 1)
    assert run_warm(unit, CONFIG) < 0.9 * run_vendor(unit, CONFIG)


def test_a_wrong_output_is_an_error(monkeypatch):
    monkeypatch.setattr(
        vendor_library,
        "expected_output",
        lambda operator, inputs, numbers: inputs["a"][..., :1] * 0,
    )
    with pytest.raises(TuningError, match="wrong elements"):
        run_vendor(Unit(MATMUL, None, 1), CONFIG)


@pytest.mark.slow
def test_resnet18(tmp_path, capsys):
    """All of the network's layers but none else, near what the RTL took."""
    out = tmp_path / "rows.json"
    assert against_vendor.main(["--model", "resnet18", "--json", str(out)]) == 0
    rows = json.loads(out.read_text())["layers"]
    assert all(row["vendor_cycles"] for row in rows)
    deviations = [row["deviation_from_rtl"] for row in rows if row["rtl_cycles"]]
    assert len(deviations) == 12
    large = [
        abs(row["deviation_from_rtl"])
        for row in rows
        if row["rtl_cycles"] and row["rtl_cycles"] > 200_000
    ]
    assert max(large) < 0.12


def test_unknown_model(capsys):
    assert against_vendor.main(["--model", "nothing"]) == 1
    assert "unknown model 'nothing'" in capsys.readouterr().err
