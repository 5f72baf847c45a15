"""`npu-target logs`: what is there, and joining it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_lines import logs, refusal
from rich.console import Console

from npu_target.device import preset
from npu_target.jobs import logs_show as job
from npu_target.tuning.header import Header
from npu_target.tuning.log import RecordLine, TuningLog, log_folder, open_log
from npu_target.tuning.places import shipped_logs
from npu_target.tuning.workload import operator_of

CONFIG = preset("gemmini-16x16")
MODEL = "matmuls"
HEADER = Header.of(CONFIG, MODEL, "")
SHIPPED = log_folder(shipped_logs(), HEADER)
LAYER = "matmul_1x512x1000"


@pytest.fixture(scope="module")
def shipped() -> TuningLog:
    return TuningLog(SHIPPED, Header.read(SHIPPED))


@pytest.fixture(scope="module")
def halves(shipped, tmp_path_factory) -> list[Path]:
    """What comes with the package as two folders, which have some of it in common."""
    folders = []
    for name, parts in (("a", slice(0, 4)), ("b", slice(2, 6))):
        folder = log_folder(tmp_path_factory.mktemp(name), HEADER)
        with open_log(folder, HEADER) as log:
            for mod in shipped.modules[:3]:
                for line in shipped.records_of(mod)[parts]:
                    log.add_json(mod, line.record, _entry(mod, line))
            log.add_failure(
                {"task": "x", "kind": "race", "message": "no", "program": None, "time": name}
            )
        folders.append(folder)
    return folders


def _entry(mod, line: RecordLine) -> dict:
    cycles = round(line.seconds * CONFIG.clock_khz * 1e3)
    name, program = operator_of(mod).name, f"{line.line}"
    return {"task": name, "program": program, "cycles": cycles, "trial": 1}


def lines_of(log: TuningLog) -> dict[str, list[str]]:
    return {
        operator_of(mod).name: sorted(json.dumps(line.record) for line in log.records_of(mod))
        for mod in log.modules
    }


def test_all_that_there_is(capsys, tmp_path, shipped, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert logs(["show", f"--json={tmp_path / 'all.json'}"]) == 0
    out = capsys.readouterr().out
    found = json.loads((tmp_path / "all.json").read_text())["logs"]
    (mine,) = (row for row in found if row["model"] == MODEL)
    assert mine["folder"] == str(SHIPPED) and mine["trials"] == shipped.trials
    assert mine["layers"] == len({entry["task"] for entry in shipped.measurements})
    assert {row["model"] for row in found} >= {"resnet18", "bert_base", "mobilenet_v2"}
    assert f"package: {shipped_logs()}\n" in out
    for more in ([], ["--own-logs-only"]):
        error = refusal(logs, capsys, "show", f"--logs={tmp_path}", *more)
        assert f"there are no logs in {tmp_path}; give another --logs folder" in error
    error = refusal(logs, capsys, "show", "--runner=nosuch")
    assert "nothing was measured by 'nosuch' in " in error


def test_names_of_layers_are_whole_in_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setattr(job, "make_console", lambda: Console(width=80))
    assert logs(["show", "--model=resnet18"]) == 0
    out = capsys.readouterr().out
    assert "\N{HORIZONTAL ELLIPSIS}" not in out and max(map(len, out.splitlines()[:10])) <= 80
    width = next(line for line in out.splitlines() if "trials" in line).index("trials")
    assert "conv2d_56x56x64_64_k3_s1_p1" in "".join(
        line[:width].strip() for line in out.splitlines()
    )


def test_a_models_layers_and_their_history(capsys, tmp_path, shipped):
    output = tmp_path / "layers.json"
    assert logs(["show", f"--model={MODEL}", f"--json={output}"]) == 0
    out = capsys.readouterr().out
    layers = {layer["name"]: layer for layer in json.loads(output.read_text())["layers"]}
    for name, layer in layers.items():
        cycles = [entry["cycles"] for entry in shipped.measurements if entry["task"] == name]
        steps = [step["cycles"] for step in layer["steps"]]
        assert steps[-1] == min(cycles) and steps == sorted(set(steps), reverse=True)
        assert name in out and f"{steps[-1]:,}" in out
    name = next(iter(layers))
    assert logs(["show", f"--model={MODEL}", f"--layer={name}"]) == 0
    assert f"{layers[name]['steps'][0]['cycles']:,}" in capsys.readouterr().out
    error = refusal(logs, capsys, "show", f"--model={MODEL}", "--layer=none")
    assert f"have no layer 'none'; layers: {next(iter(layers))}, " in error


def test_the_best_schedule_of_a_layer(capsys, shipped):
    mod = shipped.modules[0]
    name = operator_of(mod).name
    assert logs(["best", f"--model={MODEL}", name]) == 0
    out = capsys.readouterr().out
    cycles = round(shipped.records_of(mod)[0].seconds * CONFIG.clock_khz * 1e3)
    assert f"# {name} on gemmini-16x16: {cycles:,} cycles\n" in out and "sch.get_sblock" in out
    assert "the logs have no layer 'x'" in refusal(logs, capsys, "best", f"--model={MODEL}", "x")


def test_merged_logs_have_everything_once(halves, tmp_path, capsys):
    assert logs(["merge", *map(str, halves), "-o", str(tmp_path)]) == 0
    assert "wrote " in capsys.readouterr().out
    folder = log_folder(tmp_path, HEADER)
    merged = TuningLog(folder, Header.read(folder))
    parts = [lines_of(TuningLog(half, HEADER)) for half in halves]
    for name, found in lines_of(merged).items():
        assert found == sorted({*parts[0][name], *parts[1][name]}) and len(found) == 6
    assert len(merged.failures) == 2 and len(merged.measurements) == 18
    assert merged.header.command.startswith("npu-target logs merge ")
    # What is there is never written over.
    error = refusal(logs, capsys, "merge", *map(str, halves), "-o", str(tmp_path))
    assert "is there already" in error


def test_of_another_models_logs_the_layers_that_the_first_have_are_merged(
    halves, tmp_path, capsys, shipped
):
    """As those of a layer that was tuned alone."""
    other = tmp_path / "other"
    shutil.copytree(SHIPPED, other)
    Header.of(CONFIG, "other", "").write(other)
    assert logs(["merge", str(halves[0]), str(other), "-o", str(tmp_path / "m")]) == 0
    folder = log_folder(tmp_path / "m", HEADER)
    merged = TuningLog(folder, Header.read(folder))
    first = TuningLog(halves[0], HEADER)
    mine = {operator_of(mod).name for mod in first.modules}
    assert len(mine) < len(shipped.modules)
    assert {operator_of(mod).name for mod in merged.modules} == mine
    assert {entry["task"] for entry in merged.measurements} == mine
    for mod in first.modules:
        assert merged.records_of(mod)[0].seconds == shipped.records_of(mod)[0].seconds
        assert len(merged.records_of(mod)) >= len(shipped.records_of(mod))
    # Of nothing that they have nothing is taken.
    alone = tmp_path / "alone"
    alone.mkdir()
    Header.of(CONFIG, "other", "").write(alone)
    error = refusal(logs, capsys, "merge", str(halves[0]), str(alone), "-o", str(tmp_path / "n"))
    assert "has logs of other, and no layer of" in error and not (tmp_path / "n").exists()


def test_logs_of_different_devices_are_not_merged(halves, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(halves[0], other)
    Header.of(preset("gemmini-8x8"), MODEL, "").write(other)
    error = refusal(logs, capsys, "merge", str(halves[0]), str(other), "-o", str(tmp_path / "m"))
    assert "logs of another device" in error and not (tmp_path / "m").exists()


def test_an_export_has_the_fastest_of_each_layer(tmp_path, capsys, shipped):
    assert logs(["export", f"--model={MODEL}", "--best=2", "-o", str(tmp_path)]) == 0
    folder = log_folder(tmp_path, HEADER)
    written = TuningLog(folder, Header.read(folder))
    for mod in shipped.modules:
        wanted = [line.record for line in shipped.records_of(mod)[:2]]
        assert [line.record for line in written.records_of(mod)] == wanted
    assert not written.failures and written.measurements
    assert "there are no tuning logs of tiny" in refusal(
        logs, capsys, "export", "--model=tiny", "-o", str(tmp_path / "x")
    )
