"""tune.py and what follows it, over servers whose device is a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import build
from command_lines import logs as logs_main
from command_lines import tune as main
from fake_device import RUNNER, FakeDevice, served

from npu_target.device import preset
from npu_target.tuning.header import Header
from npu_target.tuning.layers import Layer
from npu_target.tuning.log import TuningLog, log_folder, read_log
from npu_target.tuning.network import load_network, select_layers
from npu_target.tuning.workload import workload_module
from rpc_server.address import Address
from rpc_server.tracker_client import device_key, wait_for_servers

CONFIG = preset("gemmini-16x16")
TRIALS = 8

pytestmark = [pytest.mark.rpc, pytest.mark.usefixtures("tiny_model")]


@pytest.fixture(scope="module")
def layer(tiny_model) -> Layer:
    """The one that is tuned."""
    (found,) = select_layers(load_network("tiny", CONFIG).layers, "matmul")
    return found


@pytest.fixture(scope="module")
def fake(layer, tmp_path_factory) -> FakeDevice:
    device = FakeDevice(tmp_path_factory.mktemp("fake"))
    device.computes(layer.operator, CONFIG)
    return device


@pytest.fixture(scope="module")
def tracker(fake):
    with fake.served() as address:
        yield address


def tune(logs: Path, tracker: Address, runner: str, *arguments: str) -> int:
    wait_for_servers(tracker, device_key(CONFIG, runner), 1, 60)
    common = ["--model=tiny", "--ops=matmul", f"--logs={logs}", f"--tracker={tracker}"]
    return main([*common, f"--runner={runner}", f"--trials={TRIALS}", *arguments])


def log_of(logs: Path, runner: str = RUNNER) -> TuningLog:
    header = Header.of(CONFIG, "tiny", "", runner=runner)
    folder = log_folder(logs, header)
    assert folder == logs / f"gemmini-16x16@{runner}" / "tiny"
    return read_log(folder, header)


@pytest.fixture(scope="module")
def tuned(fake, tracker, tmp_path_factory):
    """The logs of a run in which half of the first went wrong, the default schedule's too."""
    folder = tmp_path_factory.mktemp("tuned")
    fake.behaves(["no time", "well", "nonsense", "few", "well", "wrong", "fail"])
    code = tune(folder / "logs", tracker, RUNNER, f"--json={folder / 'result.json'}")
    assert code == 0
    return folder / "logs", json.loads((folder / "result.json").read_text())


@pytest.mark.long
def test_logs_say_what_measured_them(tuned, layer):
    logs, result = tuned
    log = log_of(logs)
    assert log.header.runner == result["runner"] == RUNNER
    assert [path.name for path in logs.iterdir()] == [log.header.measured_on]
    assert log.trials == TRIALS
    kinds = [failure["kind"] for failure in log.failures]
    assert sorted(kinds) == ["bad_answer", "bad_answer", "run_error", "wrong_result"]
    best = log.records_of(workload_module(layer.operator, CONFIG))[0].seconds
    (found,) = result["layers"]
    assert found["cycles"] == round(best * CONFIG.clock_khz * 1e3) <= found["default_cycles"]


@pytest.mark.long
def test_a_run_goes_on_where_the_last_one_stopped(tuned, tracker, capsys):
    logs, _ = tuned
    assert tune(logs, tracker, RUNNER, "--resume") == 0
    assert f"holds {TRIALS} trials, which count" in " ".join(capsys.readouterr().out.split())
    assert log_of(logs).trials == TRIALS


def test_a_build_takes_what_the_runner_found_fastest(tuned, tmp_path, capsys, layer):
    logs, _ = tuned
    arguments = ["--model=tiny", f"--logs={logs}", f"--output={tmp_path / 'tiny.so'}"]
    result = tmp_path / "result.json"
    assert build([*arguments, f"--runner={RUNNER}", f"--json={result}"]) == 0
    assert f"measured by {RUNNER}" in capsys.readouterr().out
    built = json.loads(result.read_text())
    layers = {found["name"]: found for found in built["layers"]}
    records = log_of(logs).records_of(workload_module(layer.operator, CONFIG))
    best = round(records[0].seconds * CONFIG.clock_khz * 1e3)
    assert layers[layer.name]["cycles"] == best
    simulated = [name for name, found in layers.items() if found.get("is_simulated")]
    assert sorted([*simulated, layer.name]) == sorted(layers) and len(layers) > 2
    # Without its name they are not there.
    assert build([*arguments, "--require-tuned"]) == 1
    assert "does not exist; " in capsys.readouterr().err


def test_logs_of_one_are_not_read_for_another(tuned, tracker, tmp_path, capsys):
    logs, _ = tuned
    log = log_of(logs)
    moved = tmp_path / "gemmini-16x16"
    moved.mkdir()
    (logs / log.header.measured_on / "tiny").rename(moved / "tiny")
    try:
        arguments = ["--model=tiny", f"--logs={tmp_path}", f"--output={tmp_path / 'tiny.so'}"]
        assert build(arguments) == 1
        said = capsys.readouterr().err
        assert f"holds cycles measured by {RUNNER}, needed those of the simulator" in said
    finally:
        (moved / "tiny").rename(logs / log.header.measured_on / "tiny")


@pytest.mark.long
def test_simulated_logs_are_measured_on_the_runner_into_a_folder_of_their_own(
    fake, tracker, tmp_path, capsys, layer
):
    logs = tmp_path / "logs"
    assert (
        main(["--model=tiny", "--ops=matmul", f"--logs={logs}", "--servers=1", "--trials=4"]) == 0
    )
    simulated = logs / CONFIG.name / "tiny"
    before = {path.name: path.read_bytes() for path in simulated.iterdir()}
    wait_for_servers(tracker, device_key(CONFIG, RUNNER), 1, 60)
    over = ["remeasure", f"--runner={RUNNER}", f"--tracker={tracker}"]
    assert logs_main([*over, str(simulated)]) == 0
    log = log_of(logs)
    assert log.header.runner == RUNNER
    records = log.records_of(workload_module(layer.operator, CONFIG))
    assert records and all(2e-6 <= record.seconds < 4e-6 for record in records)
    after = {path.name: path.read_bytes() for path in simulated.iterdir()}
    assert {name: after[name] for name in before if name != "run.log"} == {
        name: data for name, data in before.items() if name != "run.log"
    }
    # Again: those there are measured anew by their own command alone.
    assert logs_main([*over, str(simulated)]) == 1
    assert "is there already: remeasure that folder" in capsys.readouterr().err
    wait_for_servers(tracker, device_key(CONFIG, RUNNER), 1, 60)
    assert logs_main(["remeasure", f"--tracker={tracker}", str(log.folder)]) == 0
    assert log_of(logs).header.runner == RUNNER
    assert logs_main(["remeasure", str(log.folder)]) == 1
    assert f"--runner {RUNNER} needs --tracker HOST:PORT" in capsys.readouterr().err


def test_a_runner_without_a_tracker(tmp_path, capsys):
    assert main(["--model=tiny", f"--logs={tmp_path}", "--runner=verilator"]) == 1
    said = capsys.readouterr().err
    assert "--runner verilator needs --tracker HOST:PORT" in said and "--run-with" in said


def test_a_name_that_no_folder_can_have(tmp_path, capsys):
    assert main(["--model=tiny", f"--logs={tmp_path}", "--runner=../evil"]) == 1
    assert "the runner's name is '../evil'" in capsys.readouterr().err


@pytest.mark.riscv
def test_on_an_emulated_core_everything_is_as_in_the_simulator(tmp_path, layer):
    """Kernels that run there, and give the bytes and the cycles of the simulator."""
    logs, result = tmp_path / "logs", tmp_path / "result.json"
    emulated = [
        "--elf-for=emulated",
        "--run-with=qemu-riscv64 {elf} {input} {output}",
        "--runner=qemu",
    ]
    with served(*emulated) as tracker:
        assert tune(logs, tracker, "qemu", f"--json={result}") == 0
    log = log_of(logs, "qemu")
    assert log.trials == TRIALS and not log.failures
    measured = json.loads(result.read_text())["layers"][0]
    assert main(
        ["--model=tiny", "--ops=matmul", f"--logs={logs}", "--servers=1", f"--trials={TRIALS}",
         f"--json={result}"]
    ) == 0  # fmt: skip
    simulated = json.loads(result.read_text())["layers"][0]
    assert measured == simulated
    header = Header.of(CONFIG, "tiny", "")
    by_program = [
        {entry["program"]: entry["cycles"] for entry in found.measurements}
        for found in (log, read_log(log_folder(logs, header), header))
    ]
    assert by_program[0] == by_program[1]
