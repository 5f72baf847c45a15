"""What differs between two runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import sim as main
from sim.streams import loads_then_products, product, trace, write_lines

from npu_target.devices.gemmini.profile import PROFILE
from npu_target.sim.compare import comparison_tables, difference, explanation, read_result
from npu_target.sim.errors import SimError
from npu_target.sim.run import Options, run_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    few = [command for _ in range(20) for command in product(weights=4096)]
    many = loads_then_products(20)
    records = [trace("few", few), trace("many", many), trace("slow", few, instructions=100)]
    return write_lines(tmp_path / "t.jsonl", records)


def result(file: Path, name: str):
    return run_file(file, Options(name=name, repeat=2))


def test_the_difference_adds_up(file: Path) -> None:
    a, b = result(file, "few"), result(file, "many")
    found = difference(a, b)
    assert list(found["breakdown"]) == list(PROFILE.reasons)
    assert sum(found["breakdown"].values()) == found["cycles"] > 0
    assert found["commands"] == {"compute_preloaded": 0, "mvin": 20, "preload": 0}
    assert found["counts"]["bytes_loaded"] == 20 * 256
    opposite = difference(b, a)
    assert opposite["cycles"] == -found["cycles"]


def test_the_largest_cause(file: Path) -> None:
    few, many, slow = (result(file, name) for name in ("few", "many", "slow"))
    text = explanation(few, many)
    assert text.startswith("B takes ")
    assert "more than A; the largest cause is waiting for loads: " in text
    assert text.endswith("with 5,120 bytes loaded instead of 0.")
    assert "fewer than A; the largest cause is waiting for loads: " in explanation(many, few)
    assert "the largest cause is host issue: " in explanation(few, slow)
    assert explanation(few, few) == "A and B take the same cycles for the same reasons."


def test_results_and_files_compare_alike(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = file.parent / "few.json"
    assert main(["run", str(file), "--name", "few", "--json", str(saved)]) == 0
    capsys.readouterr()
    streams = ["compare", str(file), str(file), "--name", "few", "--name", "many", "--json"]
    assert main(streams) == 0
    from_streams = json.loads(capsys.readouterr().out)
    # The name is for the file that is a stream.
    mixed = ["compare", str(saved), str(file), "--name", "many", "--json"]
    assert main(mixed) == 0
    assert json.loads(capsys.readouterr().out) == from_streams


def test_the_tables(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["--name", "few", "--name", "many"]
    assert main(["compare", str(file), str(file), *names]) == 0
    out = capsys.readouterr().out
    assert "A: few on gemmini-16x16, ddr3\nB: many on gemmini-16x16, ddr3\n" in out
    for words in ("waiting for loads", "bytes loaded", "mvin", "B - A", "largest cause"):
        assert words in out


def test_kinds_of_device_are_not_compared(file: Path) -> None:
    whole = result(file, "few")
    other = {**whole, "kind": "toy"}
    for compare in (difference, explanation, comparison_tables):
        with pytest.raises(SimError, match="A is of a device of kind gemmini, B of kind toy"):
            compare(whole, other)


@pytest.mark.parametrize("spoil", ["cycles", "breakdown", "issued", "macs"])
def test_a_damaged_result_is_refused(file: Path, spoil: str) -> None:
    whole = result(file, "few")
    path = file.parent / "few.json"
    path.write_text(json.dumps(whole))
    assert read_result(path) == whole
    del whole["runs"][-1][spoil]
    path.write_text(json.dumps(whole))
    with pytest.raises(SimError, match="damaged result"):
        read_result(path)
    assert read_result(file) is None
