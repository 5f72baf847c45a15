"""tune.py on what users get wrong: one line each, before anything is measured."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import tiny_network
from command_lines import misuse, refusal
from command_lines import tune as main
from free_port import free_port

from npu_target.device import preset
from npu_target.jobs import tune as job
from npu_target.tuning.header import Header
from npu_target.tuning.log import RECORDS_FILE, open_log
from npu_target.tuning.network import load_network
from rpc_server.address import Address

CONFIG = preset("gemmini-16x16")
HEADER = Header.of(CONFIG, "tiny", "")

pytestmark = pytest.mark.usefixtures("tiny_model")


def folder_of(logs: Path) -> Path:
    return logs / CONFIG.name / "tiny"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model=alexnet"], "unknown model 'alexnet'; known models: bert_base, matmuls"),
        (["--model=tiny", "--device=abacus"], "no device is called 'abacus'"),
        (["--model=tiny", "--ops=depthwise_conv2d"], "the model has no depthwise_conv2d"),
        (["--model=tiny", "--weights=nowhere.npz"], "nowhere.npz"),
        (["--model=tiny", "--calibrate", "nowhere.bmp"], "nowhere.bmp is not there"),
        (["--model=tiny", "--json=nowhere/file.json"], "the folder nowhere does not exist"),
        (["--model=tiny", "--json=."], "is a folder, a file is needed"),
        (["--model=tiny", "--dump=/dev/null/dump"], "/dev/null/dump cannot be written"),
        (["--model=tiny", "--logs=/dev/null/logs"], "give another --logs folder"),
        (
            ["--model=tiny", "--print-ir-after=all", "--print-ir-to=/dev/null/x"],
            "/dev/null/x cannot be written",
        ),
    ],
)
def test_wrong_input_is_one_line(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert says in refusal(main, capsys, *arguments)
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_without_what_is_to_be_installed_it_says_how():
    script = Path(__file__).parents[1] / "tune.py"
    ran = subprocess.run(
        [sys.executable, "-S", script], capture_output=True, text=True, check=False
    )  # -S: without site-packages
    assert ran.returncode == 1 and len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith("tune.py: error: Python's package ")
    assert ran.stderr.endswith("-m pip install -e .\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--ops=conv3d"], "argument --ops: unknown operator 'conv3d'; there are: add, conv2d"),
        (["--tracker=nonsense"], "argument --tracker: 'nonsense' is not HOST:PORT"),
        (["--print-ir-after=it"], "argument --print-ir-after: no pass is called 'it'; there are"),
    ],
)
def test_names_that_there_are_none_of_are_wrong_options(
    tmp_path, monkeypatch, capsys, arguments, says
):
    monkeypatch.chdir(tmp_path)
    assert says in misuse(main, capsys, "--model=tiny", *arguments)
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize(
    ("operator", "says"),
    [
        ("conv3d(h=1)", "unknown operator 'conv3d'; known: add"),
        ("conv2d(h=28)", "conv2d: w, ci, co, kh, kw not given; needs n, h, w"),
        ("conv2d 28x28", "write one as conv2d(h=28"),
        ("matmul(m=4, k=4, n=4, sums=True, relu=True)", "not clipped at 0"),
    ],
)
def test_an_operator_that_is_none(tmp_path, monkeypatch, capsys, operator, says):
    monkeypatch.chdir(tmp_path)
    assert says in misuse(main, capsys, f"--op={operator}")
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_an_operator_that_the_device_does_not_take(capsys):
    said = refusal(main, capsys, "--op=add(rows=4, cols=4, dim=8)")
    assert "weights laid out for dim 8, device has 16" in said


def test_a_network_of_which_nothing_is_for_the_device(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    from onnx_models import write_host_network

    file = tmp_path / "odd.onnx"
    write_host_network(file)
    said = refusal(main, capsys, f"--model={file}", f"--logs={tmp_path / 'logs'}", "--trials=1")
    assert "nothing of odd is for gemmini-16x16 to compute, so there is nothing to tune" in said


def test_an_operator_has_no_options_of_networks(capsys):
    operator = "--op=matmul(m=4, k=4, n=4)"
    said = misuse(main, capsys, operator, "--on-device=a")
    assert said.startswith("--on-device: is for networks, not for --op")
    assert "not allowed with argument" in misuse(main, capsys, operator, "--model=tiny")
    assert "one of the arguments --model --op is required" in misuse(main, capsys)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--trials=0"], "--trials: must be at least 1, got 0"),
        (["--trials=-5"], "--trials: must be at least 1, got -5"),
        (["--trials=many"], "--trials: must be a whole number, got 'many'"),
        (["--servers=0"], "--servers: must be at least 1, got 0"),
        (["--timeout=0"], "--timeout: must be more than 0"),
        (["--space=everything"], "--space: invalid choice: 'everything'"),
        (["--pipeline=O4"], "--pipeline: pipeline 'O4': begins with none of the names O0, O1, O2"),
    ],
)
def test_senseless_numbers_are_refused(capsys, arguments, says):
    with pytest.raises(SystemExit) as caught:
        main(["--model=tiny", *arguments])
    assert caught.value.code == 2
    assert says in capsys.readouterr().err


def test_a_tracker_that_is_not_there(tmp_path, capsys):
    address = Address("127.0.0.1", free_port())
    error = refusal(main, capsys, "--model=tiny", f"--logs={tmp_path}", f"--tracker={address}")
    assert f"no tracker answers at {address}" in error


def test_weights_of_the_wrong_shape(tmp_path, capsys):
    shapes = tiny_network.parameter_shapes(tiny_network.TINY)
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    arrays["fc.weight"] = np.zeros((3, 3), np.float32)
    np.savez(tmp_path / "weights.npz", **arrays)
    error = refusal(
        main,
        capsys,
        "--model=tiny",
        f"--logs={tmp_path / 'logs'}",
        f"--weights={tmp_path}/weights.npz",
    )
    assert "fc.weight" in error and "(3, 3)" in error


def test_what_is_too_large_for_a_memory_is_not_tuned():
    """It stays on the host, where no tile of it has room; the others are tuned."""
    small = CONFIG.replace(name="small", spad_banks=1, spad_bank_rows=16)
    network = load_network("tiny", small)
    reasons = [decision.reason for decision in network.partitioned.decisions]
    assert any("has room in the memories of small" in reason for reason in reasons)
    whole = load_network("tiny", CONFIG)
    assert {layer.operator.op for layer in whole.layers} > {
        layer.operator.op for layer in network.layers
    }


@pytest.fixture
def logs(tmp_path) -> Path:
    """Logs with a header and nothing else."""
    folder_of(tmp_path).mkdir(parents=True)
    HEADER.write(folder_of(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (RECORDS_FILE, "[0, [[", "line 1 is cut off"),
        (RECORDS_FILE, "\x00\n", "line 1 is not JSON"),
        ("header.json", "{", "cannot be read"),
        ("header.json", HEADER.__class__.__name__, "cannot be read"),
    ],
)
def test_damaged_logs_are_refused_at_once(logs, capsys, name, text, says):
    (folder_of(logs) / name).write_text(text)
    error = refusal(main, capsys, "--model=tiny", f"--logs={logs}")
    assert says in error and "npu-target logs repair" in error


def test_logs_of_another_device_are_refused_at_once(logs, capsys):
    Header.of(CONFIG.replace(clock_khz=1), "tiny", "").write(folder_of(logs))
    assert "logs of another device" in refusal(main, capsys, "--model=tiny", f"--logs={logs}")


def test_logs_of_another_version_are_refused_at_once(logs, capsys):
    text = (folder_of(logs) / "header.json").read_text()
    (folder_of(logs) / "header.json").write_text(
        re.sub(r'"npu_target": "[^"]*"', '"npu_target": "0.0.0"', text)
    )
    assert "made with npu_target 0.0.0" in refusal(main, capsys, "--model=tiny", f"--logs={logs}")


def test_a_second_run_on_the_same_logs_is_refused_at_once(tmp_path, capsys, monkeypatch):
    """Before the network is loaded, which is what takes time."""
    monkeypatch.setattr(job, "asked_network", None)
    with open_log(folder_of(tmp_path), HEADER):
        error = refusal(main, capsys, "--model=tiny", f"--logs={tmp_path}")
    assert f"another run is writing to {folder_of(tmp_path)}" in error


def test_what_is_measured_needs_a_folder(capsys):
    assert "--logs none: what is measured needs a folder" in misuse(
        main, capsys, "--model=tiny", "--logs=none"
    )


def test_weights_that_are_too_large_are_one_line(tmp_path, capsys):
    shapes = tiny_network.parameter_shapes(tiny_network.TINY)
    arrays = {name: np.full(shape, 1e30, np.float32) for name, shape in shapes.items()}
    arrays |= {name: np.ones_like(x) for name, x in arrays.items() if "running_var" in name}
    np.savez(tmp_path / "weights.npz", **arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        error = refusal(
            main,
            capsys,
            "--model=tiny",
            f"--logs={tmp_path / 'logs'}",
            f"--weights={tmp_path}/weights.npz",
        )
    assert "which is more than float32 has; check the weights" in error
