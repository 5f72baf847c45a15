"""`npu-target sim`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_lines import one_line, refusal
from command_lines import sim as main
from sim.streams import copy_program, loads_then_products, mvin, trace, words, write_lines

from npu_target.devices.gemmini import GemminiConfig


@pytest.fixture
def program(tmp_path: Path) -> str:
    copy_program().save(tmp_path / "copy.npu")
    return str(tmp_path / "copy.npu")


def test_what_it_prints(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", program, "--repeat", "2"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("copy on gemmini-16x16, ddr3\n")
    for text in ("utilization", "768 loaded, 768 stored", "8 of the host", "cold", "warm"):
        assert text in out
    for text in ("array busy", "waiting for loads", "waiting for stores", "bank conflict"):
        assert text in out
    for text in ("dependency", "host issue", "drain", "total"):
        assert text in out


def test_an_output_without_the_character_of_bars(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "npu_target", "sim", "run", program],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "####" in done.stdout and "total" in done.stdout


def test_json_to_stdout_and_to_a_file(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", program, "--repeat", "3", "--memory", "ideal_memory", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["cycles"]) == 3
    assert result["memory"] == "ideal_memory"
    assert sum(result["breakdown"].values()) == result["cycles"][-1]
    file = Path(program).parent / "out.json"
    options = ["--repeat", "3", "--memory", "ideal_memory", "--json", str(file)]
    assert main(["run", program, *options]) == 0
    assert "copy on" in capsys.readouterr().out
    assert json.loads(file.read_text()) == result


def test_what_program_expand_prints(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    from command_lines import program as program_main

    addresses = ["x=0x80010000", "y=0x80011000"]
    assert program_main(["expand", program, "--address", *addresses]) == 0
    stream = Path(program).parent / "copy.jsonl"
    stream.write_text(capsys.readouterr().out)
    results = []
    for file in (program, str(stream)):
        assert main(["run", file, "--json"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[1]["commands"] == results[0]["commands"]
    assert results[1]["bytes_stored"] == results[0]["bytes_stored"]


def test_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = write_lines(tmp_path / "t.jsonl", [trace("t", loads_then_products(2))])
    GemminiConfig().replace(name="mine").save(tmp_path / "mine.json")
    for option in ("--device", "--device"):
        assert main(["run", str(stream), option, str(tmp_path / "mine.json")]) == 0
        assert "t on mine, ddr3" in capsys.readouterr().out


def _one_line(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    return one_line(main, capsys, *argv)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--repeat", "0"], "--repeat: must be at least 1, got 0"),
        (["--repeat", "x"], "--repeat: must be a whole number"),
        (["--memory", "dram"], "invalid choice: 'dram'"),
        (["--device", "none"], "no device is called 'none'"),
        (["--name", "x"], "is one program"),
        (["--name", "x", "--name", "y"], "--name: needs one stream"),
        (["--timeline-cycles", "1:2"], "needs --timeline FILE"),
        (["--timeline", "t.json", "--timeline-cycles", "5"], "needs FROM:TO"),
        (["--timeline", "t.json", "--timeline-cycles", "5:5"], "needs FROM:TO"),
        (["--timeline", "no/t.json"], "no/t.json cannot be written: the folder no does not exist"),
        (["--json", "no/t.json"], "no/t.json cannot be written: the folder no does not exist"),
        (["--output", "y=no/y.npy"], "no/y.npy cannot be written: the folder no does not exist"),
        (["--input", "x"], "--input x: needs NAME=FILE"),
        (["--input", "q=x.npy"], "--input q: program copy has the inputs x"),
        (["--input", "x=none.npy"], "none.npy: No such file"),
        (["--wrong"], "unrecognized arguments: --wrong"),
    ],
)
def test_wrong_options(
    program: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in _one_line(capsys, "run", program, *options)


def test_wrong_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "none: No such file" in _one_line(capsys, "run", str(tmp_path / "none"))
    assert "Is a directory" in _one_line(capsys, "run", str(tmp_path))
    assert "arguments are required: FILE" in _one_line(capsys, "run")
    assert "arguments are required: FILE" in _one_line(capsys, "run", "--json", "x")
    assert "arguments are required: run|compare" in _one_line(capsys)
    assert "--timeline" in _one_line(capsys, "compare", "a", "b", "--timeline", "t.json")
    assert "invalid choice" in _one_line(capsys, "walk")
    cut = tmp_path / "cut.npu"
    cut.write_bytes(copy_program().to_bytes()[:-1])
    assert "cut.npu" in _one_line(capsys, "run", str(cut))
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    stream = write_lines(tmp_path / "t.jsonl", words([mvin()]))
    assert "bad.json: needs the 'kind'" in _one_line(
        capsys, "run", str(stream), "--device", str(bad)
    )


def test_what_the_device_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = write_lines(tmp_path / "t.jsonl", words([mvin()]))
    assert "[undefined_configuration] command 0" in _one_line(capsys, "run", str(stream))
    stream = write_lines(tmp_path / "u.jsonl", [trace("u", [mvin(address=0x40)])])
    timeline = tmp_path / "out.json"
    line = _one_line(capsys, "run", str(stream), "--timeline", str(timeline))
    assert "[address_out_of_range]" in line
    assert "0x40" in line
    assert not timeline.exists()
    assert len(list(tmp_path.iterdir())) == 2


def test_races_are_refused_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A load, another that adds to its rows, and a store of them."""
    tile = 16 << 48 | 16 << 32
    scale = 0x3F800000 << 32
    words = [
        [0, scale | 16 << 16 | 1, 64],
        [0, 2, scale | 16],
        [2, 0x80010000, tile | 1 << 31],
        [2, 0x80020000, tile | 3 << 30],
        [3, 0x80030000, tile | 1 << 31],
    ]
    file = tmp_path / "sum.jsonl"
    file.write_text("\n".join(map(json.dumps, words)))
    assert main(["run", str(file)]) == 0
    capsys.readouterr()
    error = refusal(main, capsys, "run", str(file), "--races")
    assert "[race] command 4 mvout(" in error
    assert "command 2 mvin(" in error and "command 3 mvin(" in error


def test_interrupted(tmp_path: Path) -> None:
    stream = write_lines(tmp_path / "t.jsonl", [trace("long", loads_then_products(1000))])
    timeline = tmp_path / "out.json"
    command = [sys.executable, "-m", "npu_target", "sim", "run", str(stream)]
    process = subprocess.Popen(
        [*command, "--repeat", "1000000", "--timeline", str(timeline)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # Once it writes it runs.
        deadline = time.monotonic() + 60
        while not any(p.stat().st_size for p in tmp_path.glob(".out.json.*")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err == "npu-target sim run: stopped\n"
    assert [p.name for p in tmp_path.iterdir()] == ["t.jsonl"]
