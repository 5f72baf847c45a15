"""The command line of sweeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import misuse, refusal
from command_lines import sweep as main

from npu_target.device import load, preset
from npu_target.sweep import measure
from npu_target.tuning.choose import Chooser
from npu_target.tuning.network import load_network

pytestmark = pytest.mark.usefixtures("tiny_model")


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_network", None)


def sweep(folder: Path, *arguments: str) -> int:
    out = str(folder / "out")
    return main(["--model", "tiny", "-o", out, "--processes", "1", *arguments])


@pytest.mark.long
def test_cycles_are_those_of_builds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    json_file = tmp_path / "sweep.json"
    assert sweep(tmp_path, "--vary", "dim=8,12,16", "--json", str(json_file)) == 0
    found = json.loads(json_file.read_text())
    assert len(found["devices"]) == 2 and len(found["no_devices"]) == 1
    for device in found["devices"]:
        config = preset("gemmini-16x16").varied(device["numbers"])
        results = Chooser(config, None).results(load_network("tiny", config).layers)
        assert device["cycles"] == sum(each.layer.count * each.cycles for each in results)
    text = capsys.readouterr().out
    assert "1 left out: device 'gemmini-16x16': dim is 12, must be a power of two" in text
    assert found["front"] == ["gemmini-16x16_dim-8", "gemmini-16x16_dim-16"]


def test_what_is_measured_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep(tmp_path, "--vary", "dim=16") == 0
    first = capsys.readouterr().out
    measured = []

    def watched(options, config, point):  # type: ignore[no-untyped-def]
        measured.append(config.dim)
        return original(options, config, point)

    original = measure.measure
    monkeypatch.setattr(measure, "measure", watched)
    assert sweep(tmp_path, "--vary", "dim=16,32") == 0
    assert measured == [32]
    table = [line for line in first.splitlines() if line.startswith("│")]
    second = capsys.readouterr().out
    assert "holds 1 of the devices" in second
    for line in table:
        assert line.split("│")[1:4] in [each.split("│")[1:4] for each in second.splitlines()]


def test_devices_are_files_for_other_commands(tmp_path: Path) -> None:
    assert sweep(tmp_path, "--vary", "dim=8") == 0
    config = load(tmp_path / "out" / "gemmini-16x16_dim-8.json")
    assert config.hash == preset("gemmini-16x16").varied({"dim": 8}).hash


def test_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert sweep(tmp_path, "--vary", "dim=8,16", "--plot", str(tmp_path / "front.svg")) == 0
    assert "Pareto front" in (tmp_path / "front.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--vary", "dims=8"], "near: dim"),
        (["--vary", "dim=12"], "none of the 1 combinations is a device"),
        (["--vary", "dim=8", "--json", "/no/folder/x.json"], "/no/folder does not exist"),
        (["--vary", "dim=8", "--all-on-device"], "no device can run tiny"),
    ],
)
def test_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert text in refusal(lambda given: sweep(tmp_path, *given), capsys, *arguments)


@pytest.mark.parametrize("text", ["dim", "dim=", "=8", "dim=8,", "dim=8,x", "dim=-8", "dim=8,8"])
def test_values_that_are_none(capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert text in misuse(main, capsys, "--model", "tiny", "--vary", text)


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    out = str(tmp_path / "file" / "out")
    error = refusal(main, capsys, "--model", "tiny", "--vary", "dim=8", "-o", out)
    assert f"{out} cannot be written" in error
