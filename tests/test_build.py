"""Production builds: from logs to a file that runs."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_lines import build, refusal
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from npu_target import codegen_tir
from npu_target.codegen_tir import CodegenError, build_program
from npu_target.device import preset
from npu_target.devices.gemmini import isa
from npu_target.host import build_host, run_host
from npu_target.inputs import read_inputs
from npu_target.packing import Packing
from npu_target.program import Command, Loop, Node, Operand, Program
from npu_target.run import load_built
from npu_target.schedule_rules import space_generator
from npu_target.target import make_target
from npu_target.tuning import choose
from npu_target.tuning.check import ProgramCheck
from npu_target.tuning.choose import cycles_of
from npu_target.tuning.errors import TuningError
from npu_target.tuning.header import Header
from npu_target.tuning.layers import Layer
from npu_target.tuning.log import open_log
from npu_target.tuning.models import inputs_of
from npu_target.tuning.network import Network, load_network
from npu_target.tuning.schedules import default_of
from npu_target.tuning.workload import workload_module

CONFIG = preset("gemmini-16x16")
HEADER = Header.of(CONFIG, "tiny", "")


pytestmark = pytest.mark.usefixtures("tiny_model")


@pytest.fixture(scope="module")
def network(tiny_model) -> Network:
    return load_network("tiny", CONFIG)


def candidates(layer: Layer) -> list[tuple[ms.database.TuningRecord, int]]:
    """A few schedules of a layer's space with their cycles."""
    mod = workload_module(layer.operator, CONFIG)
    spaces = space_generator(layer.operator, CONFIG, "both").generate_design_space(mod)
    found = []
    for seed, space in enumerate(spaces[:8]):
        schedule = Schedule(mod, seed=seed + 1)
        space.trace.apply_to_schedule(schedule, remove_postproc=True)
        try:
            program = build_program(schedule.mod["main"], CONFIG, layer.name)
        except CodegenError:
            continue
        cycles = cycles_of(program)
        record = ms.database.TuningRecord(
            schedule.trace,
            ms.database.Workload(mod),
            [cycles / (CONFIG.clock_khz * 1e3)],
            make_target(CONFIG),
            ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True),
        )
        found.append((record, cycles))
    assert found, layer.name
    return found


@pytest.fixture(scope="module")
def logs(network, tmp_path_factory) -> Path:
    """Logs with schedules of every layer but the last."""
    folder = tmp_path_factory.mktemp("logs")
    with open_log(folder / CONFIG.name / "tiny", HEADER) as log:
        for layer in network.layers[:-1]:
            for record, cycles in candidates(layer):
                entry = {"task": layer.name, "program": "", "cycles": cycles}
                log.add(record, entry)
    return folder


def built(folder: Path, logs: Path | str, *arguments: str) -> tuple[Path, dict]:
    output, result = folder / "network.so", folder / "result.json"
    assert (
        build(["--model=tiny", f"--logs={logs}", "-o", str(output), f"--json={result}", *arguments])
        == 0
    )
    return output, json.loads(result.read_text())


def expected_scores(network: Network, image: np.ndarray) -> np.ndarray:
    """The integer network computed by the host alone."""
    return run_host(build_host(network.quantized.mod), image)[0]


@pytest.mark.long
def test_a_build_takes_the_faster_of_tuned_and_default(
    network, logs, tmp_path, capsys, monkeypatch
):
    # Defaults are hard to beat: here they are what costs most, so that logs have better ones.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    chosen = importlib.import_module("npu_target.schedule_rules.default")
    monkeypatch.setattr(chosen, "_chosen", {})
    monkeypatch.setattr(chosen, "cheapest", lambda estimates, *_: int(estimates.argmax()))
    _, result = built(tmp_path, logs)
    table = capsys.readouterr().out
    assert [layer["name"] for layer in result["layers"]] == [x.name for x in network.layers]
    for layer, row in zip(network.layers, result["layers"], strict=True):
        default = cycles_of(
            build_program(default_of(layer.operator, CONFIG).mod["main"], CONFIG, layer.name)
        )
        known = [] if layer == network.layers[-1] else [c for _, c in candidates(layer)]
        assert row["default_cycles"] == default
        assert row["cycles"] == min([default, *known])
        assert row["schedule"] == ("tuned" if min([default, *known]) < default else "default")
        assert re.search(rf"{re.escape(layer.name)} .*{row['cycles']:,} .*{row['schedule']}", table)
    assert {row["schedule"] for row in result["layers"]} == {"tuned", "default"}
    assert result["total_cycles"] == sum(r["count"] * r["cycles"] for r in result["layers"])


@pytest.mark.long
@pytest.mark.parametrize("with_logs", [True, False], ids=["tuned", "default"])
def test_the_file_computes_what_the_host_computes(network, logs, tmp_path, with_logs):
    output, _ = built(tmp_path, logs if with_logs else "none")
    for image in network.model.calibration_inputs(3, seed=9):
        np.testing.assert_array_equal(
            load_built(output)([image])[0], expected_scores(network, image)
        )


@pytest.mark.long
def test_the_file_runs_in_another_process(network, logs, tmp_path):
    from PIL import Image

    output, _ = built(tmp_path, logs)
    random = np.random.default_rng(0)
    image = random.integers(0, 256, (40, 50, 3), np.uint8)
    Image.fromarray(image).save(tmp_path / "image.bmp")
    (tmp_path / "labels.txt").write_text("".join(f"class {i}\n" for i in range(10)))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "npu_target",
            "run",
            str(output),
            f"--input={tmp_path / 'image.bmp'}",
            "--model=tiny",
            f"--class-names={tmp_path / 'labels.txt'}",
            "--top=3",
            f"--output={tmp_path / 'scores.npy'}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    wanted = expected_scores(
        network, *read_inputs(tmp_path / "image.bmp", inputs_of(network.model))[0]
    )
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), wanted)
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].split()[0] == str(wanted[0].argmax()) and "class" in lines[0]


@pytest.mark.long
def test_the_dump_has_every_region_with_its_own_numbers(network, logs, tmp_path):
    from reference import operators as reference

    built(tmp_path, logs, f"--dump={tmp_path / 'dump'}")
    for region in network.partitioned.regions:
        described = json.loads((tmp_path / "dump" / f"{region.name}.json").read_text())
        program = Program.load(tmp_path / "dump" / described["program"])
        assert program.name == region.name
        assert described["cycles"] == cycles_of(program)
        arrays = {
            arg["name"]: np.load(tmp_path / "dump" / arg["file"]) for arg in described["args"]
        }
        numbers = network.quantized.parameters.get(region.name, {})
        if "weight" in numbers and region.op == "conv2d":
            o = region.operator
            weight = np.asarray(numbers["weight"]).reshape(o.kh, o.kw, o.ci, o.co)
            (layout,) = [a.get("packing") for a in described["args"] if a["name"] == "weight"]
            laid_out = weight if layout is None else Packing.from_json(layout).pack(weight)
            np.testing.assert_array_equal(arrays["weight"].ravel(), laid_out.ravel())
            wanted = reference.conv2d(
                arrays["x"].reshape(o.n, o.h, o.w, o.ci),
                weight,
                arrays["bias"],
                o.strides,
                o.pad,
                o.scale,
                o.relu,
            )
            np.testing.assert_array_equal(arrays["out"].ravel(), wanted.ravel())


OPERATORS = ["conv2d", "max_pool2d", "add", "global_avg_pool"]


def changed_load(nodes: tuple[Node, ...], times: int) -> tuple[Node, ...]:
    """A program's nodes without loads from DRAM, or with the first one as often as that."""
    loads = {kind.funct for kind in isa.LOADS}
    changed: list[Node] = []
    for index, node in enumerate(nodes):
        if isinstance(node, Command) and node.funct in loads and node.rs1 != Operand():
            changed += [node] * times
        elif isinstance(node, Loop):
            changed.append(replace(node, body=changed_load(node.body, times)))
        else:
            changed.append(node)
        if times and changed != list(nodes[: index + 1]):
            return (*changed, *nodes[index + 1 :])
    return tuple(changed)


@pytest.mark.long
@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize(("times", "kind"), [(0, "wrong_result"), (2, "race")])
def test_what_is_wrong_is_refused_by_name(network, tmp_path, capsys, monkeypatch, op, times, kind):
    """A layer's program without a load, or with one twice, which nothing puts in order."""
    layer = next(layer for layer in network.layers if layer.operator.op == op)

    def wrong(func, config, name, *others):
        found = codegen_tir.build(func, config, name, *others)
        if name != layer.name:
            return found
        body = changed_load(found.program.body, times)
        return found._replace(program=replace(found.program, body=body))

    monkeypatch.setattr(choose, "build", wrong)
    arguments = ["--model=tiny", "--logs=none", "-o", str(tmp_path / "x.so")]
    error = refusal(build, capsys, *arguments)
    assert f"{layer.name}: the program of its default schedule on gemmini-16x16 is wrong" in error
    detail = r" \d+ of \d+ elements differ, the first at \[0" if times == 0 else " command "
    assert re.search(rf"\[{kind}\]{detail}", error)
    assert not (tmp_path / "x.so").exists()


def test_what_is_wrong_with_a_scale_of_its_own_is_refused(network, tmp_path, capsys, monkeypatch):
    """Layers are compared by a common scale; what goes into the file has each layer's own."""
    layer, seen = network.layers[0], []

    def wrong(func, config, name, *others):
        found = codegen_tir.build(func, config, name, *others)
        if name != layer.name:
            return found
        seen.append(found.program.to_bytes())
        if seen[-1] == seen[0]:
            return found
        body = changed_load(found.program.body, 0)
        return found._replace(program=replace(found.program, body=body))

    monkeypatch.setattr(choose, "build", wrong)
    arguments = ["--model=tiny", "--logs=none", "-o", str(tmp_path / "x.so")]
    error = refusal(build, capsys, *arguments)
    assert f"{layer.name}: the program of its default schedule on gemmini-16x16 is wrong" in error
    assert len(seen) == 2


def test_equal_programs_are_checked_once(network):
    layer = network.layers[0].operator
    program = build_program(default_of(layer, CONFIG).mod["main"], CONFIG, layer.name)
    check = ProgramCheck(CONFIG)
    cycles = [check.cycles(program, layer, "default") for _ in range(2)]
    assert cycles == [cycles_of(program)] * 2 and check.n_checked == 1


def test_what_the_device_refuses_is_refused_by_name(network):
    layer = network.layers[0].operator
    program = build_program(default_of(layer, CONFIG).mod["main"], CONFIG, layer.name)
    body = tuple(node for node in program.body if not isinstance(node, Command))
    with pytest.raises(TuningError) as error:
        ProgramCheck(CONFIG).cycles(replace(program, body=body), layer, "tuned")
    assert f"{layer.name}: the program of its tuned schedule" in str(error.value)
    assert "[undefined_configuration]" in str(error.value)


@pytest.mark.long
def test_explain_prints_where_operations_run(logs, tmp_path, capsys):
    built(tmp_path, logs, "--explain")
    assert "Where each operation runs" in capsys.readouterr().out


@pytest.mark.long
def test_explain_schedule_prints_where_copies_are_placed(network, logs, tmp_path, capsys):
    built(tmp_path, logs, "--explain-schedule")
    printed = capsys.readouterr().out
    assert printed.count("copies that no steps hide") == len(network.layers)
    assert "not hidden because" in printed and "before the steps" in printed
    for layer in network.layers:
        assert f"{layer.name}: " in printed


@pytest.mark.long
def test_another_pipeline_computes_the_same_and_is_shown(network, logs, tmp_path, capsys):
    """With the schedules of the usual logs, whose cycles are those of the default."""
    usual = built(tmp_path, logs)[1]
    shown = tmp_path / "shown"
    options = ["--pipeline=O0", "--print-ir-after=placed", f"--print-ir-to={shown}"]
    file, slower = built(tmp_path, logs, *options)
    assert slower["total_cycles"] > usual["total_cycles"]
    names = {path.parent.name for path in shown.glob("*/*_placed.txt")}
    assert names == {layer.name for layer in network.layers}
    assert "placed" not in capsys.readouterr().out
    (image,) = network.model.calibration_inputs(1, seed=9)
    np.testing.assert_array_equal(load_built(file)([image])[0], expected_scores(network, image))


def test_require_tuned_names_what_is_missing(network, logs, tmp_path, capsys):
    arguments = ["--model=tiny", "-o", str(tmp_path / "x.so"), "--require-tuned"]
    error = refusal(build, capsys, *arguments, f"--logs={logs}")
    assert f"has no schedule for {network.layers[-1].name}; tune them with" in error
    assert not (tmp_path / "x.so").exists()
    error = refusal(build, capsys, *arguments, "--logs=none")
    assert "there are no tuning logs of tiny on gemmini-16x16 (none); tune first" in error


def test_logs_whose_times_do_not_hold_are_refused(network, tmp_path, capsys):
    layer = network.layers[0]
    record, cycles = candidates(layer)[0]
    wrong = ms.database.TuningRecord(
        record.trace, record.workload, [1e-9], record.target, record.args_info
    )
    with open_log(tmp_path / CONFIG.name / "tiny", HEADER) as log:
        log.add(wrong, {"task": layer.name, "program": "", "cycles": 1})
    error = refusal(
        build, capsys, "--model=tiny", f"--logs={tmp_path}", "-o", str(tmp_path / "x.so")
    )
    assert "is out of date" in error and f"its schedule now gives {cycles}" in error
