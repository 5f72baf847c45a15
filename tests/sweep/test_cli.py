"""The command line of sweeps."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from pathlib import Path

import pytest
from command_lines import misuse, refusal
from command_lines import sweep as main
from served import running, running_tracker

from npu_target.device import load, preset
from npu_target.sweep import measure, tune
from npu_target.sweep.devices import grid
from npu_target.sweep.tune import SweepTuning
from npu_target.tuning.choose import Chooser
from npu_target.tuning.header import Header
from npu_target.tuning.log import read_log
from npu_target.tuning.network import load_network
from rpc_server.credentials import read_credentials
from rpc_server.tracker_client import device_key, wait_for_servers

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


@pytest.mark.long
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
    row = next(line for line in first.splitlines() if line.split()[:1] == ["16"])
    second = capsys.readouterr().out
    assert "holds 1 of the devices" in second
    assert row.split() in [line.split() for line in second.splitlines()]


def tuned_sweep(folder: Path, *arguments: str) -> int:
    logs = str(folder / "logs")
    return sweep(folder, "--logs", logs, "--servers", "1", *arguments)


@pytest.mark.long
def test_tuned_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both cycles are in the table and in the JSON; what is tuned is not tuned again, and what the
    logs hold counts when more is asked for."""
    json_file, picture = tmp_path / "sweep.json", tmp_path / "front.svg"
    draw = ["--plot", str(picture)] if has_matplotlib() else []
    assert (
        tuned_sweep(tmp_path, "--vary", "dim=8", "--trials", "12", "--json", str(json_file), *draw)
        == 0
    )
    text = capsys.readouterr().out
    assert "tuning gemmini-16x16_dim-8, 1 of 1" in text and "default" in text and "speedup" in text
    found = json.loads(json_file.read_text())
    for device in found["devices"]:
        config = load(tmp_path / "out" / f"{device['name']}.json")
        log = read_log(tmp_path / "logs" / device["name"] / "tiny", Header.of(config, "tiny", ""))
        results = Chooser(config, log).results(load_network("tiny", config).layers)
        assert log.trials == device["trials"] == 12
        for layer, result in zip(device["layers"], results, strict=True):
            assert layer["cycles"] == result.cycles <= layer["default_cycles"]
            assert layer["default_cycles"] == result.default_cycles
        assert f"{device['cycles']:,}" in text and f"{device['default_cycles']:,}" in text
    if has_matplotlib():
        assert "default schedules" in picture.read_text()

    with monkeypatch.context() as patch:
        patch.setattr(SweepTuning, "tune", _must_not_be_called)
        assert tuned_sweep(tmp_path, "--vary", "dim=8", "--trials", "12") == 0
        assert f"{found['devices'][0]['cycles']:,}" in capsys.readouterr().out
        assert sweep(tmp_path, "--vary", "dim=8") == 0
        assert "speedup" not in capsys.readouterr().out
    assert tuned_sweep(tmp_path, "--vary", "dim=8", "--trials", "14", "--json", str(json_file)) == 0
    assert "12 trials, which count" in capsys.readouterr().out
    for before, device in zip(
        found["devices"], json.loads(json_file.read_text())["devices"], strict=True
    ):
        assert device["trials"] == 14 and device["cycles"] <= before["cycles"]


def has_matplotlib() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def _must_not_be_called(*_: object) -> None:
    raise AssertionError("what is done was done again")


@pytest.mark.long
@pytest.mark.rpc
def test_servers_of_a_tracker_measure_where_they_have_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    @contextlib.contextmanager
    def watched(config, tracker, *more):  # type: ignore[no-untyped-def]
        asked.append((config.dim, tracker))
        with original(config, tracker, *more) as pool:
            yield pool

    original = tune.device_pool
    monkeypatch.setattr(tune, "device_pool", watched)
    monkeypatch.delenv("NPU_TARGET_TOKEN", raising=False)
    (point,) = grid(preset("gemmini-16x16"), [("dim", [8])])
    assert point.config is not None
    point.config.save(tmp_path / "mine.json")
    token = tmp_path / "token"
    token.write_text("of sixteen letters")
    token.chmod(0o600)
    guard = ("--token-file", str(token))
    with running_tracker(*guard) as (_, address):
        device = ("--device", str(tmp_path / "mine.json"))
        with running("devices", "--tracker", address, *device, *guard):
            mine = read_credentials(token, None)
            wait_for_servers(address, device_key(point.config), 1, 60, mine)
            given = ("--vary", "dim=8,16", "--trials", "2", "--tracker", str(address))
            unguarded = refusal(lambda more: tuned_sweep(tmp_path, *more), capsys, *given)
            assert "asks for a token: --token-file FILE" in unguarded
            assert tuned_sweep(tmp_path, *given, *guard) == 0
            assert asked == [(8, address), (16, None)]


def test_ctrl_c_while_tuning_keeps_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(self, config, *more):  # type: ignore[no-untyped-def]
        if config.dim == 16:
            raise KeyboardInterrupt
        return original(self, config, *more)

    original = SweepTuning.tune
    monkeypatch.setattr(SweepTuning, "tune", interrupted)
    assert tuned_sweep(tmp_path, "--vary", "dim=8,16", "--trials", "2") == 130
    said = capsys.readouterr().err
    assert "holds 2 of the 2 devices, 1 of them tuned" in said and "--trials 2" in said


def test_devices_are_files_for_other_commands(tmp_path: Path) -> None:
    assert sweep(tmp_path, "--vary", "dim=8") == 0
    config = load(tmp_path / "out" / "gemmini-16x16_dim-8.json")
    assert config.hash == preset("gemmini-16x16").varied({"dim": 8}).hash


def test_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert sweep(tmp_path, "--vary", "dim=8,16", "--plot", str(tmp_path / "front.svg")) == 0
    text = (tmp_path / "front.svg").read_text()
    assert "Pareto front" in text
    # Glyphs are paths; the texts that they are of are comments. Beside the axes, in one line each.
    for number, side in ((1, 8), (2, 16)):
        assert f"<!-- {number} -->" in text and f"<!-- dim {side} -->" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--vary", "dim=8", "--json", "/no/folder/x.json"], "/no/folder does not exist"),
        (["--vary", "dim=8", "--all-on-device"], "no device can run tiny"),
        (["--vary", "dim=8", "--trials", "1", "--logs", "none"], "needs a folder"),
        (["--vary", "dim=8", "--trials", "1", "--logs", "/proc/x"], "/proc/x"),
        (["--vary", "dim=8", "--trials", "1", "--tracker", "127.0.0.1:1"], "no tracker answers"),
    ],
)
def test_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert text in refusal(lambda given: sweep(tmp_path, *given), capsys, *arguments)


@pytest.mark.parametrize(
    ("vary", "text"),
    [("dims=8", "argument --vary: "), ("dims=8", "near: dim"), ("dim=12", "none of the 1 comb")],
)
def test_numbers_that_make_no_device_are_wrong_options(
    capsys: pytest.CaptureFixture[str], vary: str, text: str
) -> None:
    assert text in misuse(main, capsys, "--model=tiny", "--vary", vary)


@pytest.mark.parametrize(
    "option", ["--logs=x", "--tracker=127.0.0.1:1", "--servers=1", "--tls-ca=x"]
)
def test_options_of_tuning_without_trials(capsys: pytest.CaptureFixture[str], option: str) -> None:
    error = misuse(main, capsys, "--model=tiny", "--vary=dim=8", option)
    assert error.startswith(f"{option.partition('=')[0]}: is for tuning; give --trials as well")


def test_trials_are_at_least_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--trials" in misuse(main, capsys, "--model=tiny", "--vary=dim=8", "--trials=-3")


@pytest.mark.parametrize("text", ["dim", "dim=", "=8", "dim=8,", "dim=8,x", "dim=-8", "dim=8,8"])
def test_values_that_are_none(capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert text in misuse(main, capsys, "--model", "tiny", "--vary", text)


def test_a_network_of_which_nothing_is_for_the_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    from onnx_models import write_host_network

    file = tmp_path / "odd.onnx"
    write_host_network(file)
    arguments = [f"--model={file}", "--vary=dim=8", "--processes=1", f"-o={tmp_path / 'out'}"]
    error = refusal(main, capsys, *arguments)
    assert "no device can run odd: nothing of it is for the device to compute" in error


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    out = str(tmp_path / "file" / "out")
    error = refusal(main, capsys, "--model", "tiny", "--vary", "dim=8", "-o", out)
    assert f"{out} cannot be written" in error
