"""Networks from files in every command: built, run, tuned, exported, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_lines import build, export, refusal, run, tune
from exported_networks import HAS_MAKE, make, simulator

from npu_target.cli.main import parse
from npu_target.frontend import load
from npu_target.host import build_host, run_host


@pytest.fixture
def common(integer_file, monkeypatch):
    monkeypatch.chdir(integer_file.parent)
    return [f"--model={integer_file}", "--logs=none"]


def built(common, *more):
    """The layers of the build's table, and what the built file says of inputs.npz."""
    assert build([*common, "-o", "net.so", "--json=net.json", *more]) == 0
    arguments = ["net.so", common[0], "--input=inputs.npz", "--output=out.npy"]
    assert run(arguments) == 0
    layers = [layer["name"] for layer in json.loads(Path("net.json").read_text())["layers"]]
    return layers, np.load("out.npy")


def wanted(integer_file):
    """What the host says of inputs.npz by the network's own numbers."""
    executable = build_host(load(integer_file).mod)
    images = np.load(integer_file.parent / "inputs.npz")["image"]
    return np.stack([run_host(executable, image)[0] for image in images])


def test_exact_is_the_networks_own_numbers(common, integer_file):
    layers, out = built(common)
    assert layers == ["matmul_1x32x16_sums", "matmul_1x16x10"]
    np.testing.assert_array_equal(out, wanted(integer_file))


def test_fast_is_near(common, integer_file):
    layers, out = built(common, "--numerics=fast")
    assert layers == ["matmul_1x32x16", "matmul_1x16x10"]
    apart = np.abs(out.astype(int) - wanted(integer_file))
    assert 0 < apart.max() <= 3


def test_a_layer_on_the_host(common, integer_file, capsys):
    layers, out = built(common, "--numerics=fast", "--host=first", "--explain")
    assert layers == ["matmul_1x16x10"]
    np.testing.assert_array_equal(out, wanted(integer_file))
    assert "asked for: host" in capsys.readouterr().out


@pytest.mark.skipif(not HAS_MAKE, reason="needs gcc, g++ and make")
def test_its_export_is_right(common):
    folder = Path("net")
    assert export([*common, "-o", str(folder)]) == 0
    done = make(folder, simulator(folder), "check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "output: 10 of 10 values equal" in done.stdout


@pytest.mark.long
@pytest.mark.rpc
def test_its_schedules_are_logged_under_the_files_name(common, integer_file, capsys):
    assert tune([*common, "--logs=logs", "--trials=4", "--servers=1"]) == 0
    assert (integer_file.parent / "logs/gemmini-16x16/small/header.json").is_file()
    _, out = built(common, "--logs=logs", "--require-tuned")
    np.testing.assert_array_equal(out, wanted(integer_file))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--all-on-device"], "not all is on the device: first"),
        (["--host=frist"], "no layer is called 'frist'; did you mean first?"),
        (["--on-device=first", "--exact=first"], "first: both on-device and exact are asked for"),
        (["--calibrate=inputs.npz"], "is quantized; --calibrate is for networks in float"),
        (["--weights=inputs.npz"], "has its own weights"),
    ],
)
def test_what_does_not_go_together(common, capsys, arguments, says):
    assert says in refusal(build, capsys, *common, "-o", "net.so", *arguments)


@pytest.mark.usefixtures("tiny_model")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model=gone.tflite"], "gone.tflite is not there"),
        (["--model=net.docx"], "unknown model 'net.docx'; known models: "),
        (["--model=tiny", "--shape=x=1,2"], "--shape is for networks from files"),
        (["--model=tiny", "--numerics=fast"], "tiny is in float"),
        (["--model=tiny", "--calibrate=none.npz"], "none.npz is not there"),
        (["--model=tiny", "--all-on-device"], "not all is on the device: "),
    ],
)
def test_what_is_none_of_the_networks(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert says in refusal(build, capsys, "--logs=none", "-o", "net.so", *arguments)


@pytest.mark.parametrize("text", ["1,2", "x=", "x=1,-2", "x=1,a", "=1,2"])
def test_shapes_are_checked_at_once(capsys, text):
    with pytest.raises(SystemExit):
        build(["--model=tiny", "-o", "net.so", f"--shape={text}"])
    assert "write NAME=1,3,224,224" in capsys.readouterr().err


def test_of_one_input_there_is_one_shape(capsys):
    with pytest.raises(SystemExit):
        build(["--model=net.onnx", "-o", "net.so", "--shape=x=1,2", "--shape=x=2,2"])
    assert "input 'x' is given two shapes" in capsys.readouterr().err
    options = parse(["build", "--model=a", "-o=b", "--shape=x=1,2", "--shape=y=3"])
    assert options.shape == [("x", (1, 2)), ("y", (3,))]
    assert parse(["build", "--model=a", "-o=b"]).shape == []
