"""`--report` of the commands that have it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from command_lines import accuracy, build, misuse, refusal, tune

pytestmark = pytest.mark.usefixtures("tiny_model")

COMMANDS = {
    "build": (build, ("-o", "tiny.so")),
    "tune": (tune, ("--trials=2",)),
    "accuracy": (accuracy, ("--input", "x.npy")),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("x.npy", rng.standard_normal((2, 32, 32, 3)).astype("float32"))
    return tmp_path


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the network fails the test."""
    for job in ("tune", "accuracy"):
        monkeypatch.setattr(f"npu_target.jobs.{job}.asked_network", _must_not_be_called)
    monkeypatch.setattr("npu_target.tuning.production.asked_network", _must_not_be_called)


def _must_not_be_called(*_: object) -> None:
    raise AssertionError("work was done before it was refused")


@pytest.mark.parametrize("name", COMMANDS)
def test_without_jinja_it_is_refused_before_any_work(name, monkeypatch, no_work, capsys):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    command, more = COMMANDS[name]
    message = refusal(command, capsys, "--model=tiny", *more, "--report=out.html")
    assert message == "--report needs Jinja; install it with: pip install 'npu_target[report]'\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_place_that_cannot_be_written_is_refused_before_any_work(name, no_work, capsys):
    command, more = COMMANDS[name]
    message = refusal(command, capsys, "--model=tiny", *more, "--report=none/out.html")
    assert message == "none/out.html cannot be written: the folder none does not exist\n"


def test_accuracy_with_cycles_has_no_report(no_work, capsys):
    arguments = ("--model=tiny", "--input=x.npy", "--cycles", "--report=out.html")
    assert "--report" in misuse(accuracy, capsys, *arguments)


@pytest.mark.long
def test_accuracy_writes_what_it_prints(here, capsys):
    assert accuracy(["--model=tiny", "--input=x.npy", "--report=out.html"]) == 0
    printed = capsys.readouterr().out
    assert "wrote out.html" in printed
    text = (here / "out.html").read_text()
    assert "Accuracy by layer" in text and "the float network" in text and 'id="cycles"' not in text
    for name in ("conv1", "output 0"):
        assert name in printed and name in text
    assert "by at most" in text and ">differ<" not in text


def test_accuracy_of_a_quantized_network_says_how_many_elements_differ(here, integer_file):
    given = f"--input={integer_file.parent / 'inputs.npz'}"
    assert accuracy([f"--model={integer_file}", given, "--numerics=fast", "--report=out.html"]) == 0
    text = (here / "out.html").read_text()
    assert "against its own integers" in text and ">differ<" in text
    assert "steps are at other sums" in text and "over 100" in text


@pytest.mark.long
def test_tune_of_an_operator_has_its_layer_and_no_network(here, capsys):
    arguments = ["--op=matmul(m=40, k=64, n=48)", "--trials=4", "--servers=1", "--logs=logs"]
    assert tune([*arguments, "--own-logs-only", "--report=out.html"]) == 0
    assert "wrote out.html" in capsys.readouterr().out
    text = (here / "out.html").read_text()
    assert "matmul_40x64x48" in text and 'id="layers"' in text and 'id="search-curves"' in text
    assert 'id="network"' not in text and 'id="sequence"' not in text


@pytest.mark.long
def test_tune_shows_what_the_network_takes(here, capsys):
    arguments = ["--model=tiny", "--trials=2", "--servers=1", "--logs=logs", "--json=out.json"]
    assert tune([*arguments, "--report=out.html"]) == 0
    printed = capsys.readouterr().out
    found = json.loads((here / "out.json").read_text())["in_sequence"]
    text = (here / "out.html").read_text()
    assert 'id="sequence"' in text
    for cycles in (found["device_cycles"], found["host_cycles_estimate"]):
        assert f"{cycles:,}" in printed and f"{cycles:,}" in text


@pytest.mark.long
def test_tune_shows_its_search(here, capsys):
    arguments = ["--model=tiny", "--trials=24", "--servers=1", "--ops=conv2d", "--logs=logs"]
    assert tune([*arguments, "--own-logs-only", "--report=out.html"]) == 0
    assert "wrote out.html" in capsys.readouterr().out
    text = (here / "out.html").read_text()
    assert 'id="search-curves"' in text and "conv2d_" in text and "max_pool2d_" not in text
