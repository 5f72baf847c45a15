"""`npu-target tune` from its command line to its logs, on a tiny network."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import tiny_network
from command_lines import tune as main

from npu_target.device import preset
from npu_target.pipeline_options import O1
from npu_target.tuning.header import Header
from npu_target.tuning.log import RECORDS_FILE, read_log
from rpc_server.local import LocalServers

CONFIG = preset("gemmini-16x16")
HEADER = Header.of(CONFIG, "tiny", "")
TINY = Path(tiny_network.__file__)
LAYER_KEYS = {"name", "count", "macs", "default_cycles", "cycles", "utilization"}


pytestmark = pytest.mark.usefixtures("tiny_model")


def tune_process(logs: Path, *arguments: str) -> subprocess.Popen[str]:
    """`npu-target tune` in a process of its own, on the tiny network."""
    return subprocess.Popen(
        [
            sys.executable,
            tiny_network.__file__,
            "tune",
            "--model=tiny",
            f"--logs={logs}",
            *arguments,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def folder_of(logs: Path) -> Path:
    return logs / CONFIG.name / "tiny"


def wait_for_records(logs: Path, count: int, process: subprocess.Popen[str]) -> None:
    path = folder_of(logs) / RECORDS_FILE
    deadline = time.monotonic() + 120
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def family_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """The logs, the JSON and the output of a short run."""
    folder = tmp_path_factory.mktemp("tuned")
    process = tune_process(
        folder / "logs",
        "--trials=40",
        "--servers=2",
        f"--json={folder / 'result.json'}",
        f"--dump={folder / 'dump'}",
        "--explain",
        "--explain-schedule",
    )
    output, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert not error, "nothing but the results is said"
    return (
        folder / "logs",
        json.loads((folder / "result.json").read_text()),
        output,
        folder / "dump",
    )


@pytest.mark.long
@pytest.mark.rpc
def test_a_run_writes_logs_and_says_what_was_gained(tuned):
    logs, result, output, _ = tuned
    log = read_log(folder_of(logs), HEADER)
    assert 0 < log.trials <= 40
    assert len(log.measurements) == sum(
        1 for _ in (folder_of(logs) / RECORDS_FILE).read_text().splitlines()
    )
    assert result["total_cycles"] == sum(r["count"] * r["cycles"] for r in result["layers"])
    # Few trials may find nothing better than the defaults, and never take anything worse.
    assert all(r["cycles"] <= r["default_cycles"] for r in result["layers"])
    assert result["total_cycles"] <= result["total_default_cycles"]
    for layer in result["layers"]:
        assert layer.keys() >= LAYER_KEYS
        assert layer["host_instructions_per_command"] >= 1
        assert 0 <= layer["loop_code_bytes"] <= 12 * 1024 and 0 < layer["once_share"] < 1
        assert 0 < layer["cycles"] <= layer["default_cycles"]
        share = layer["macs"] / (layer["cycles"] * CONFIG.dim**2)
        assert layer["utilization"] == pytest.approx(share) and share <= 1
        assert f"{layer['name']}: {layer['schedule']}" in output
        assert f"of {layer['cycles']:,} cycles at most" in output
        best = min(
            (m["cycles"] for m in log.measurements if m["task"] == layer["name"]),
            default=layer["default_cycles"],
        )
        assert layer["cycles"] == min(best, layer["default_cycles"])
    assert "Where each operation runs" in output
    assert re.search(r"\[\d+/40\] ", output), "progress without a terminal is plain lines"


@pytest.mark.rpc
def test_the_header_names_what_made_the_logs(tuned):
    header = Header.read(folder_of(tuned[0]))
    assert header.device == CONFIG.name and header.device_hash == CONFIG.hash
    assert header.model == "tiny" and "--trials=40" in header.command


@pytest.mark.rpc
def test_no_program_is_measured_twice(tuned):
    log = read_log(folder_of(tuned[0]), HEADER)
    programs = [(m["task"], m["program"]) for m in log.measurements]
    assert len(set(programs)) == len(programs)


@pytest.mark.rpc
def test_the_dump_replays_to_what_is_expected(tuned):
    from npu_target import device_api
    from npu_target.program import Program

    _, result, _, dump = tuned
    for layer in result["layers"]:
        described = json.loads((dump / f"{layer['name']}.json").read_text())
        program = Program.load(dump / described["program"])
        arrays = {arg["name"]: np.load(dump / arg["file"]) for arg in described["args"]}
        *inputs, output = described["args"]
        # One memory for all arguments, as the addresses say.
        addresses = [int(arg["address"], 16) for arg in described["args"]]
        memory = bytearray(addresses[-1] + output["bytes"] - addresses[0])
        for arg, address in zip(inputs, addresses, strict=False):
            data = arrays[arg["name"]].tobytes()
            assert len(data) == arg["bytes"]
            start = address - addresses[0]
            memory[start : start + len(data)] = data
        stream = device_api.expand_program(program.to_bytes(), addresses)
        replayed = device_api.run_stream(CONFIG, stream, addresses[0], bytes(memory))
        start = addresses[-1] - addresses[0]
        actual = np.frombuffer(replayed.memory[start:], np.int8)[: output["bytes"]]
        np.testing.assert_array_equal(actual, arrays[output["name"]].ravel(), layer["name"])


@pytest.mark.long
@pytest.mark.rpc
def test_resuming_a_finished_run_measures_nothing_new(tuned, capfd):
    logs = tuned[0]
    before = (folder_of(logs) / RECORDS_FILE).read_bytes()
    done = read_log(folder_of(logs), HEADER).trials
    trials = f"--trials={done}"
    assert main(["--model=tiny", f"--logs={logs}", trials, "--resume", "--servers=1"]) == 0
    assert f"holds {done} trials, which count" in capfd.readouterr().out
    assert (folder_of(logs) / RECORDS_FILE).read_bytes() == before


@pytest.mark.long
@pytest.mark.rpc
def test_ctrl_c_loses_nothing_and_resume_goes_on(tmp_path):
    process = tune_process(tmp_path, "--trials=1000", "--servers=2")
    wait_for_records(tmp_path, 5, process)
    children = family_of(process)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "total" in out and "the whole network" not in out  # which would take its time
    lines = [line for line in error.splitlines() if line]
    assert len(lines) == 2 and lines[0].startswith("stopping after the current step")
    assert lines[1].startswith("npu-target tune: stopped; ") and lines[1].endswith("--resume")
    assert not psutil.wait_procs(children, timeout=10)[1], "all children are gone"
    log = read_log(folder_of(tmp_path), HEADER)
    assert len(log.measurements) >= 5
    before = {m["program"] for m in log.measurements}

    process = tune_process(tmp_path, f"--trials={log.trials + 5}", "--servers=2", "--resume")
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert "the whole network" in out
    resumed = read_log(folder_of(tmp_path), HEADER)
    assert log.trials < resumed.trials <= log.trials + 5
    new = [m["program"] for m in resumed.measurements[len(log.measurements) :]]
    assert not before & set(new)


@pytest.mark.long
@pytest.mark.rpc
def test_a_killed_run_leaves_readable_logs_and_no_processes(tmp_path):
    process = tune_process(tmp_path, "--trials=1000", "--servers=2")
    wait_for_records(tmp_path, 3, process)
    children = family_of(process)
    process.kill()
    process.communicate()
    assert not psutil.wait_procs(children, timeout=10)[1]
    assert len(read_log(folder_of(tmp_path), HEADER).measurements) >= 3


@pytest.mark.long
@pytest.mark.rpc
def test_a_run_survives_its_servers_and_its_tracker(tmp_path):
    process = tune_process(tmp_path, "--trials=30", "--servers=2")
    wait_for_records(tmp_path, 2, process)
    family = family_of(process)
    servers = [child for child in family if "rpc_server.serving" in child.cmdline()]
    trackers = [child for child in family if "tracker" in child.cmdline()]
    assert servers and len(trackers) == 1
    for child in [*trackers, *servers]:
        child.kill()
    _, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    log = read_log(folder_of(tmp_path), HEADER)
    lost = [failure for failure in log.failures if failure["kind"] == "device_lost"]
    assert len(lost) <= 2, "one measurement a server"
    assert len(log.measurements) > 10


@pytest.mark.long
@pytest.mark.rpc
def test_a_tracker_of_ones_own(tmp_path):
    with LocalServers(CONFIG, 1, tmp_path) as servers:
        process = tune_process(
            tmp_path / "logs", "--trials=5", f"--tracker={servers.tracker}", "--ops=add"
        )
        output, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
        assert "conv2d" not in output
        arguments = ["--model=tiny", f"--tracker={servers.tracker}", "--device=gemmini-8x8"]
        assert main([*arguments, f"--logs={tmp_path / 'logs'}"]) == 1


@pytest.mark.long
@pytest.mark.rpc
@pytest.mark.parametrize("space", ["template", "rules"])
def test_each_space_can_be_searched_alone(tmp_path, space):
    process = tune_process(tmp_path, "--trials=6", f"--space={space}", "--ops=conv2d")
    _, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert read_log(folder_of(tmp_path), HEADER).measurements


@pytest.mark.long
@pytest.mark.rpc
def test_another_pipeline_is_measured_and_shown(tmp_path, capsys):
    logs, shown = tmp_path / "logs", tmp_path / "shown"
    options = ["--pipeline=O1", "--print-ir-after=placed", f"--print-ir-to={shown}"]
    process = tune_process(logs, "--trials=6", "--ops=conv2d", *options)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert list(shown.glob("conv2d*/00_placed.txt"))
    other = Header.of(CONFIG, "tiny", "", O1)
    assert read_log(folder_of(logs), other).measurements
    assert main(["--model=tiny", f"--logs={logs}"]) == 1
    assert "by pipeline O1, needed O2" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.rpc
def test_tvms_own_search(tmp_path):
    process = tune_process(tmp_path, "--trials=6", "--search=evolutionary", "--ops=conv2d")
    _, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert read_log(folder_of(tmp_path), HEADER).measurements


def test_the_help_explains_every_option():
    done = subprocess.run(
        [sys.executable, "tune.py", "--help"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100"},
        timeout=60,
    )
    assert done.returncode == 0
    options = set(re.findall(r"--[a-z-]+", done.stdout))
    assert options >= {
        "--model",
        "--weights",
        "--trials",
        "--logs",
        "--device",
        "--space",
        "--seed",
        "--resume",
        "--tracker",
        "--servers",
        "--json",
        "--dump",
        "--explain",
        "--explain-schedule",
        "--ops",
    }


@pytest.mark.long
def test_one_operator_alone(tmp_path, capsys):
    operator = "conv2d(h=8, w=8, ci=16, co=16, k=3, pad=1)"
    arguments = [f"--op={operator}", f"--logs={tmp_path / 'logs'}", f"--json={tmp_path / 'x.json'}"]
    assert main([*arguments, "--trials=6", "--servers=1"]) == 0
    name = "conv2d_8x8x16_16_k3_s1_p1"
    assert name in capsys.readouterr().out
    result = json.loads((tmp_path / "x.json").read_text())
    assert result["model"] == name and [layer["name"] for layer in result["layers"]] == [name]
    log = read_log(tmp_path / "logs" / CONFIG.name / name, Header.of(CONFIG, name, ""))
    assert log.trials == 6
