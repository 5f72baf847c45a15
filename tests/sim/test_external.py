"""Saved programs run by a command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_lines import one_line
from command_lines import sim as main
from fake_device import FakeDevice
from sim.streams import copy_program, loads_then_products, trace, write_lines


@pytest.fixture
def program(tmp_path: Path) -> str:
    copy_program().save(tmp_path / "copy.npu")
    return str(tmp_path / "copy.npu")


@pytest.fixture
def fake(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDevice:
    """It gives the simulator's output."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    device = FakeDevice(tmp_path)
    output = tmp_path / "y.npy"
    assert main(["run", program, f"--output=y={output}", f"--json={tmp_path / 'run.json'}"]) == 0
    device.answer.write_bytes(np.load(output).tobytes())
    return device


def result_of(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_run(program, fake, tmp_path, capsys):
    target = tmp_path / "z.npy"
    arguments = ["run", program, *fake.arguments, "--repeat=2"]
    result = result_of(*arguments, f"--output=y={target}", capsys=capsys)
    assert result["runner"] == "fake" and len(set(result["cycles"])) == 1
    assert 1000 <= result["cycles"][0] < 2000
    np.testing.assert_array_equal(np.load(target), np.load(tmp_path / "y.npy"))
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("copy on gemmini-16x16, measured by fake\n")


def test_beside_the_simulator(program, fake, tmp_path, capsys):
    simulated = result_of("run", program, "--repeat=2", capsys=capsys)
    command = result_of("run", program, *fake.arguments, capsys=capsys)
    found = result_of("compare", program, program, *fake.arguments, capsys=capsys)
    more = command["cycles"][0] - simulated["cycles"][0]
    assert found["cycles"] == more > 0
    percent = 100 * more / simulated["cycles"][0]
    assert found["explanation"] == (
        f"B takes {more:,} cycles ({percent:.1f} %) more than A, with the same outputs. "
        "A command tells no reasons for its cycles."
    )
    # What --json wrote of them is as good, and first runs are compared.
    for name, result in (("a", simulated), ("b", command)):
        (tmp_path / name).write_text(json.dumps(result))
    files = [str(tmp_path / name) for name in "ab"]
    assert result_of("compare", *files, capsys=capsys) == found
    back = result_of("compare", *reversed(files), capsys=capsys)
    assert back["cycles"] == -more and "fewer than A" in back["explanation"]
    assert main(["compare", *files]) == 0
    assert "First runs, with cold caches" in capsys.readouterr().out


def test_other_bytes_are_said(program, fake, capsys):
    arguments = fake.arguments
    fake.behaves(["wrong"])
    found = result_of("compare", program, program, *arguments, capsys=capsys)
    assert "with other bytes in y." in found["explanation"]


def test_what_a_command_cannot(program, fake, tmp_path, capsys):
    stream = write_lines(tmp_path / "t.jsonl", [trace("t", loads_then_products(2))])
    for arguments, says in (
        ([str(stream), *fake.arguments], "is a raw stream; a command runs saved programs"),
        ([program, *fake.arguments, "--memory=ideal_memory"], "--memory is of the simulated"),
        ([program, *fake.arguments, "--races"], "--races is of the simulated device"),
        ([program, *fake.arguments, "--timeout=0"], "--timeout: must be more than 0"),
        ([program, "--runner=x"], "say how to use --run-with"),
        ([program, "--run-with=true {input}"], "has no {elf}"),
        ([program, *fake.arguments, "--elf-flags='"], "--elf-flags cannot be read"),
    ):
        capsys.readouterr()
        assert says in one_line(main, capsys, "run", *arguments)


def test_a_command_that_fails(program, fake, capsys):
    arguments = fake.arguments
    fake.behaves(["fail"])
    capsys.readouterr()
    assert main(["run", program, *arguments]) == 1
    assert "ended with exit code 3: something is | out of order" in capsys.readouterr().err


def test_a_damaged_result(tmp_path, capsys):
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"format": "npu_target.sim/2", "runner": "x", "runs": []}))
    assert main(["compare", str(path), str(path)]) == 1
    assert "a damaged result" in capsys.readouterr().err
