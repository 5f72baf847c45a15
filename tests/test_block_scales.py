"""A network with a scale for each block of channels, from its file to the device and to C."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_lines import build, export, run, tune
from exported_networks import HAS_MAKE, make, simulator
from network_files import scaled_blocks, write_integer_file

from npu_target.frontend import load
from npu_target.host import build_host, run_host


@pytest.fixture
def common(tmp_path, monkeypatch):
    file = write_integer_file(tmp_path, monkeypatch, scaled_blocks)
    monkeypatch.chdir(tmp_path)
    return [f"--model={file}", "--logs=none"]


def check_build(common, *more):
    """Its results are the host's by the network's own numbers, and all is on the device."""
    assert build([*common, "-o", "net.so", "--json=net.json", "--all-on-device", *more]) == 0
    assert run(["net.so", common[0], "--input=inputs.npz", "--output=out.npy"]) == 0
    layers = [layer["name"] for layer in json.loads(Path("net.json").read_text())["layers"]]
    assert layers == ["matmul_1x32x40_scales16", "matmul_1x40x10"]
    executable = build_host(load(Path("small.fake")).mod)
    images = np.load("inputs.npz")["image"]
    wanted = np.stack([run_host(executable, image)[0] for image in images])
    np.testing.assert_array_equal(np.load("out.npy"), wanted)


def test_it_is_exact_on_the_device(common):
    check_build(common)


@pytest.mark.long
@pytest.mark.rpc
def test_it_is_tuned(common, capsys):
    assert tune([*common, "--logs=logs", "--trials=4", "--servers=1"]) == 0
    check_build(common, "--logs=logs", "--require-tuned")


@pytest.mark.long
@pytest.mark.skipif(not HAS_MAKE, reason="needs gcc, g++ and make")
def test_its_export_is_right(common):
    folder = Path("net")
    assert export([*common, "-o", str(folder)]) == 0
    done = make(folder, simulator(folder), "check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "output: 10 of 10 values equal" in done.stdout
