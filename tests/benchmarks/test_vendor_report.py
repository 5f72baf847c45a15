"""The report of all models beside the vendor's library."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import vendor_report
from benchmarks.against_vendor import compare, units_of
from npu_target.devices.gemmini import GemminiConfig
from npu_target.topi import Add, Matmul


@pytest.mark.long
def test_a_model_is_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operators = [Matmul(1, 16, 16, 16, True, False), Add(16, 16, 16)]
    rows = list(compare(units_of(operators), GemminiConfig(), None))
    monkeypatch.setattr(vendor_report, "compare", lambda *_: iter(rows))
    monkeypatch.setattr(vendor_report, "read_log", lambda *_: None)
    (tmp_path / "gemmini-16x16" / "matmuls").mkdir(parents=True)
    report = tmp_path / "report.md"
    assert vendor_report.main(["--logs", str(tmp_path), "--output", str(report)]) == 0
    lines = report.read_text().splitlines()
    assert "## matmuls" in lines
    (line,) = (line for line in lines if line.startswith("| matmul_16x16x16 "))
    assert f"{rows[0].default:,}" in line and f"{rows[0].vendor:,}" in line


def test_no_logs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert vendor_report.main(["--logs", str(tmp_path), "--output", str(tmp_path / "r.md")]) == 1
    assert "has no model's logs" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_said_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "nowhere" / "r.md"
    assert vendor_report.main(["--logs", str(tmp_path), "--output", str(output)]) == 1
    assert str(output.parent) in capsys.readouterr().err
