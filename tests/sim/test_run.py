"""Running files: cycles, and where they went."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from device_api.streams import BASE, streams
from hypothesis import given, settings
from my_npu.config import MyNpuConfig
from sim.streams import (
    TRACES,
    copy_program,
    loads_then_products,
    needs_traces,
    product,
    trace,
    words,
    write_lines,
)

from npu_target.device import ConfigError, preset
from npu_target.device_api import create_module, last_stats
from npu_target.device_api.profile import profile_stream
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.profile import PROFILE
from npu_target.sim import run as sim_run
from npu_target.sim.errors import SimError
from npu_target.sim.run import RAM_ADDRESS, RAM_BYTES, Options, run_file
from npu_target.sim.stream import Issue, pack

CONFIG = preset("gemmini-16x16")


def check_parts(result) -> None:
    """Every cycle of every run has one reason."""
    assert result["cycles"] == [run["cycles"] for run in result["runs"]]
    for run in result["runs"]:
        assert list(run["breakdown"]) == list(PROFILE.reasons)
        assert sum(run["breakdown"].values()) == run["cycles"]
        assert min(run["breakdown"].values()) >= 0
        assert sum(run["issued"].values()) == run["commands"]


def test_a_program_as_a_launch_runs_it(tmp_path: Path) -> None:
    program = copy_program()
    program.save(tmp_path / "copy.npu")
    result = run_file(tmp_path / "copy.npu", Options(outputs={"y": tmp_path / "y.npy"}))
    check_parts(result)
    tensors = [tvm.runtime.empty(arg.shape, arg.dtype) for arg in program.args]
    create_module({"copy": program.to_bytes()})["copy"](*tensors)
    stats = last_stats()
    assert stats is not None
    assert result["cycles"] == [stats.cycles]
    for key in ("macs", "commands", "bytes_loaded", "bytes_stored"):
        assert result[key] == getattr(stats, key)
    # Inputs without a file are the same noise each time.
    y = np.load(tmp_path / "y.npy")
    assert len(np.unique(y)) > 100
    assert (result["name"], result["device"]) == ("copy", "gemmini-16x16")


def test_the_host_is_the_given_device_s(tmp_path: Path) -> None:
    copy_program().save(tmp_path / "copy.npu")
    own = run_file(tmp_path / "copy.npu", Options())
    assert own["host"]["instructions_per_command"] > 1
    assert own["host"]["loop_bytes"] + own["host"]["once_bytes"] > 4 * own["commands"] / 100
    assert 0 < own["host"]["once_share"] < 1
    for field, value, least in (
        ("host_cycles_per_command", 101, 100 * own["commands"]),
        ("host_cycles_per_instruction", 101, 50 * own["host_instructions"] // 2),
        ("host_icache_miss_cycles", 10_049, 10_000),
    ):
        CONFIG.replace(name="slow", **{field: value}).save(tmp_path / "slow.json")
        slow = run_file(tmp_path / "copy.npu", Options(device=str(tmp_path / "slow.json")))
        assert slow["cycles"][0] > least
        assert slow["host_instructions"] == own["host_instructions"]


def test_inputs_of_a_program(tmp_path: Path) -> None:
    program = copy_program()
    program.save(tmp_path / "copy.npu")
    x = np.arange(3 * 256, dtype=np.int8).reshape(3, 256)
    np.save(tmp_path / "x.npy", x)
    files = {"inputs": {"x": tmp_path / "x.npy"}, "outputs": {"y": tmp_path / "y.npy"}}
    # Each block of y takes the first of x: the program's addresses do not run.
    run_file(tmp_path / "copy.npu", Options(**files))
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy")[0], x[0])
    np.save(tmp_path / "x.npy", x.astype(np.int16))
    with pytest.raises(SimError, match=r"--input x: .* needs int8\[3, 256\], has int16\[3, 256\]"):
        run_file(tmp_path / "copy.npu", Options(**files))
    (tmp_path / "x.npy").write_text("no array")
    with pytest.raises(SimError, match="not an array"):
        run_file(tmp_path / "copy.npu", Options(**files))
    with pytest.raises(SimError, match="--output x: program copy has the outputs y"):
        run_file(tmp_path / "copy.npu", Options(outputs={"x": tmp_path / "x.npy"}))


def test_caches_stay_warm(tmp_path: Path) -> None:
    copy_program(lines=40).save(tmp_path / "copy.npu")
    cold, warm, again = run_file(tmp_path / "copy.npu", Options(repeat=3))["runs"]
    assert cold["l2_misses"] > 0
    assert warm["l2_misses"] == again["l2_misses"] == 0
    assert warm["cycles"] < cold["cycles"]
    assert warm["cycles"] == again["cycles"]
    ideal = run_file(tmp_path / "copy.npu", Options(repeat=3, memory="ideal_memory"))["cycles"]
    assert ideal[0] < cold["cycles"]


def test_weights_that_are_loaded_are_waited_for(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [trace("t", loads_then_products(20))])
    result = run_file(path, Options(repeat=2))
    check_parts(result)
    warm = result["runs"][1]["breakdown"]
    assert max(warm, key=warm.__getitem__) == "loads"
    assert result["macs"] == 20 * 16**3
    assert result["utilization"] == pytest.approx(20 * 16 / result["cycles"][1])
    assert result["issued"] == {"mvin": 20, "preload": 20, "compute_preloaded": 20}


def test_a_slow_host_is_waited_for(tmp_path: Path) -> None:
    commands = [command for _ in range(20) for command in product(weights=4096)]
    parts = {}
    for instructions in (1, 200):
        path = write_lines(tmp_path / "t.jsonl", [trace("t", commands, instructions)])
        parts[instructions] = run_file(path, Options())["breakdown"]
    assert parts[1]["host_issue"] < 20
    assert parts[200]["host_issue"] > 20 * 200


@settings(max_examples=60, deadline=None)
@given(streams())
def test_the_parts_of_any_stream_add_up(device_and_words) -> None:
    config, commands = device_and_words
    _check_stream(config, commands)


def _check_stream(config: GemminiConfig, commands) -> None:
    packed = pack(Issue(1 + i % 5, *command) for i, command in enumerate(commands))
    assert BASE >= RAM_ADDRESS
    try:
        profiles = profile_stream(config, (RAM_ADDRESS, RAM_BYTES), b"", packed, 2)
    except RuntimeError as error:
        # A command that waits for one behind it hangs the hardware, too.
        assert "[timed_out]" in str(error)
        return
    for profile in profiles:
        cycles = profile.parts["breakdown"].values()
        assert sum(cycles) == profile.cycles
        assert min(cycles) >= 0


@needs_traces
def test_the_parts_of_measured_streams_add_up() -> None:
    for name, memory in (
        ("4x same chain", "ideal_memory"),
        ("u32 stay rows5", "ideal_memory"),
        ("x32 newW A,B same bank", "ddr3"),
        ("loop_ws I4 J4 K4 bias0 storeC1 x4 back-to-back", "ideal_memory"),
        ("tiled_conv_auto in16 ic3 oc16 k3 s1 p1 pool0", "ideal_memory"),
        ("first layer by 21-column windows, interleaved, running operands, 1 lines", "ddr3"),
    ):
        check_parts(run_file(TRACES, Options(name=name, memory=memory, repeat=2)))


@pytest.mark.slow
@needs_traces
def test_the_parts_of_every_measured_stream_add_up() -> None:
    import json

    for line in TRACES.read_text().splitlines():
        record = json.loads(line)
        for memory, cycles in record["cycles"].items():
            options = Options(name=record["name"], memory=memory, repeat=len(cycles))
            check_parts(run_file(TRACES, options))


def test_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_program().save(tmp_path / "copy.npu")
    slow = GemminiConfig().replace(name="slow", memory_latency_cycles=500)
    slow.save(tmp_path / "slow.json")
    own = run_file(tmp_path / "copy.npu", Options())
    other = run_file(tmp_path / "copy.npu", Options(device=str(tmp_path / "slow.json")))
    assert other["cycles"][0] > own["cycles"][0] + 400
    assert other["device"] == "slow"
    with pytest.raises(SimError, match="compiled for dim 16, the device has 8"):
        run_file(tmp_path / "copy.npu", Options(device="gemmini-8x8"))
    monkeypatch.setattr(sim_run, "find", lambda name: MyNpuConfig())
    with pytest.raises(SimError, match="for a device of kind gemmini, this is one of kind my_npu"):
        run_file(tmp_path / "copy.npu", Options(device="my_npu"))
    monkeypatch.undo()
    with pytest.raises(ConfigError, match="no device is called 'none'"):
        run_file(tmp_path / "copy.npu", Options(device="none"))


def test_an_address_without_memory_is_refused(tmp_path: Path) -> None:
    commands = trace("t", loads_then_products(1))
    low = write_lines(
        tmp_path / "low.jsonl", [commands | {"commands": [[1, 2, 64, 1 << 48 | 1 << 32]]}]
    )
    with pytest.raises(RuntimeError, match=r"\[address_out_of_range\].*at 0x40"):
        run_file(low, Options())
    bare = write_lines(tmp_path / "bare.jsonl", words(product(0)))
    assert run_file(bare, Options())["cycles"][0] > 0
