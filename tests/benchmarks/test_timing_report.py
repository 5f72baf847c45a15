"""The report of measured against simulated cycles, from a file of a few streams."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.timing_report import Comparison, compare, main, markdown

CONFIG_LD = [0, "0x3f80000000100101", "0x40"]
MVIN = [2, "0x80001000", "0x0010004000000000"]


def trace(
    name: str,
    group: str,
    commands: int,
    cycles: dict[str, list[int]],
    command: list[object] = CONFIG_LD,
) -> str:
    issued = [[i + 4, *command] for i in range(commands)]
    setup = [CONFIG_LD]
    stream = {"name": name, "group": group, "cycles": cycles, "setup": setup, "commands": issued}
    return json.dumps(stream) + "\n"


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_text(
        trace("one", "micro", 1, {"ideal_memory": [20, 15], "ddr3": [15]})
        + trace("many", "loop_ws", 64, {"ideal_memory": [78, 60]})
    )
    return path


def test_runs_are_compared_as_they_were_measured(traces: Path) -> None:
    assert list(compare(traces)) == [
        Comparison("one", "micro", "ideal_memory", "warm", 15, 15),
        Comparison("one", "micro", "ideal_memory", "first", 20, 15),
        Comparison("one", "micro", "ddr3", "warm", 15, 15),
        Comparison("one", "micro", "ddr3", "first", 15, 15),
        Comparison("many", "loop_ws", "ideal_memory", "cold", 78, 78),
        Comparison("many", "loop_ws", "ideal_memory", "warm", 60, 78),
        Comparison("many", "loop_ws", "ideal_memory", "first", 78, 78),
    ]


def test_streams_find_what_those_before_them_left(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    cycles = {"ideal_memory": [169]}
    path.write_text("".join(trace(n, "micro", 1, cycles, MVIN) for n in ("before", "after")))
    first = {c.name: c.simulated for c in compare(path) if c.run == "first"}
    assert first["after"] < first["before"]


def test_groups_have_mean_and_worst() -> None:
    parts = [("a", 100, 110), ("b", 200, 190)]
    text = markdown([Comparison(n, "conv", "ddr3", "cold", m, s) for n, m, s in parts])
    assert "| conv | DDR3 | cold | 2 | 7.50 % | 10.00 % (10 of 100) | a |" in text
    assert "| b | DDR3 | cold | 200 | 190 | -5.00 % |" in text


def test_the_report_is_written(traces: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    assert main(["--traces", str(traces), "--output", str(folder)]) == 0
    assert "| many | ideal | warm | 60 | 78 | +30.00 % |" in (folder / "timing.md").read_text()
    assert (folder / "timing.png").read_bytes().startswith(b"\x89PNG")


def test_no_traces_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--traces", str(tmp_path / "none.jsonl")])
    assert "--traces names the file" in capsys.readouterr().err
