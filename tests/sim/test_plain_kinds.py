"""Kinds of device whose simulators record nothing: they run, and tell what is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_lines import one_line
from command_lines import program as program_main
from command_lines import sim as main
from new_device.installed import my_npu  # noqa: F401  a fixture

from npu_target.conformance.runs import default_program, expected, inputs_of, launched
from npu_target.device import kind_of, preset
from npu_target.device_api import LaunchStats, last_stats
from npu_target.program import Program
from npu_target.sim.run import Options, run_file
from npu_target.topi import Matmul

LAYER = Matmul(batch=1, m=4, k=48, n=32, scale=2**-6)

pytestmark = pytest.mark.usefixtures("my_npu")


@pytest.fixture(params=["vta-1x16x16", "my_npu"])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A program, its inputs, and what a launch says of it."""
    config = preset(request.param)
    program, mod = default_program(LAYER, config)
    program = replace(program, name="layer")
    inputs = inputs_of(LAYER, config, mod)
    program.save(tmp_path / "layer.npu")
    for arg, array in zip(program.args, inputs, strict=False):
        np.save(tmp_path / f"{arg.name}.npy", array)
    np.save(tmp_path / "expected.npy", expected(LAYER, config))
    launched(program, inputs)
    return tmp_path / "layer.npu"


def launch_stats() -> LaunchStats:
    stats = last_stats()
    assert stats is not None and stats.program == "layer"
    return stats


def test_they_run_as_launches_do(saved: Path) -> None:
    stats, program, folder = launch_stats(), Program.load(saved), saved.parent
    *inputs, output = [arg.name for arg in program.args]
    given = {name: folder / f"{name}.npy" for name in inputs}
    outputs = {output: folder / "out.npy"}
    result = run_file(saved, Options(inputs=given, outputs=outputs))
    np.testing.assert_array_equal(
        np.load(folder / "out.npy").ravel(), np.load(folder / "expected.npy").ravel()
    )
    assert result["cycles"] == [stats.cycles]
    for key in ("commands", "macs", "bytes_loaded", "bytes_stored"):
        assert result[key] == getattr(stats, key) > 0
    assert result["breakdown"] == {}
    peak = stats.cycles * program.config.peak_macs
    assert result["utilization"] == pytest.approx(stats.macs / peak)


def test_what_they_print(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stats, config = launch_stats(), Program.load(saved).config
    assert main(["run", str(saved), "--repeat", "2"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and "Where the cycles went" not in out
    assert out.startswith(f"layer on {config.name}, ddr3\n")
    assert f"\n  cycles       {stats.cycles:,} " in out
    assert f"% of {config.peak_macs:,} multiply-accumulates a cycle ({stats.macs:,} in all)" in out
    assert f"{stats.bytes_loaded:,} loaded, {stats.bytes_stored:,} stored" in out
    assert f"{stats.commands:,} of the host\n" in out


def test_a_timeline_is_refused(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    timeline = saved.parent / "timeline.json"
    said = one_line(main, capsys, "run", str(saved), "--timeline", str(timeline))
    kind = kind_of(Program.load(saved).config).name
    assert said.startswith(f"--timeline: the simulator of {kind} devices does not record")
    assert "leave --timeline out" in said
    assert not timeline.exists()


# What a program has of its own, as VTA's micro-ops, is not in the zeros that raw streams work on.
@pytest.mark.parametrize("saved", ["my_npu"], indirect=True)
def test_raw_streams(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stats, program = launch_stats(), Program.load(saved)
    places = [
        f"{arg.name}={0x8001_0000 + 0x10000 * index:#x}" for index, arg in enumerate(program.args)
    ]
    assert program_main(["expand", str(saved), "--address", *places]) == 0
    stream = saved.parent / "layer.jsonl"
    stream.write_text(capsys.readouterr().out)
    result = run_file(stream, Options(device=program.config.name))
    assert (result["commands"], result["macs"]) == (stats.commands, stats.macs)


def test_two_of_them_compare(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, folder = Program.load(saved), saved.parent
    slow = program.config.replace(name="slow", host_cycles_per_command=500)
    slow.save(folder / "slow.json")
    result = folder / "slow.result"
    options = ["--device", str(folder / "slow.json"), "--json", str(result)]
    assert main(["run", str(saved), *options]) == 0
    more = json.loads(result.read_text())["cycles"][0] - launch_stats().cycles
    capsys.readouterr()
    assert main(["compare", str(saved), str(result)]) == 0
    out = capsys.readouterr().out
    assert f"B takes {more:,} cycles (" in out and "bytes loaded" in out
    assert f"The simulator of {program.config.kind} devices tells no reasons" in out
    assert "L2 misses" not in out
    assert main(["compare", str(result), str(result)]) == 0
    assert "A and B take the same " in capsys.readouterr().out
