"""Kinds of device that the library does not have: simulated by a function of a package's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np
import pytest
import tvm
import tvm_ffi
from device_api.adder import device as device_of_the_tests
from device_api.adder.device import (
    ADD,
    CONFIG,
    STORE,
    command,
    cycles_of,
    simulate,
    sum_program,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import rpc

from npu_target import _register, device_api
from npu_target.device_api.profile import profile_program
from npu_target.device_api.simulators import DeviceError, DeviceRun, register_simulator
from npu_target.program import Arg, Command, Operand, Program

ROWS, COLUMNS = 3, 5
FUNCTION = "npu.simulator.adder"


@pytest.fixture(autouse=True)
def adder() -> Iterator[None]:
    register_simulator("adder", simulate)
    yield
    tvm_ffi.registry.remove_global_func(FUNCTION)


def tensors(rows: int = ROWS, columns: int = COLUMNS, n: int = 2, seed: int = 0) -> list[Any]:
    generator = np.random.default_rng(seed)
    arrays = generator.integers(-(2**31), 2**31, (n, rows, columns), np.int32)
    return [tvm.runtime.tensor(array) for array in [*arrays, np.zeros((rows, columns), np.int32)]]


def launch(program: Program, arguments: list[Any] | None = None) -> device_api.LaunchStats:
    module = device_api.create_module({"f": program.to_bytes()})
    module["f"](*(arguments or tensors()))
    stats = device_api.last_stats()
    assert stats is not None
    return stats


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(1, 20), st.integers(1, 4), st.integers(1, 64))
def test_values_and_cycles(rows: int, columns: int, n_inputs: int, bytes_per_cycle: int) -> None:
    config = CONFIG.replace(bytes_per_cycle=bytes_per_cycle)
    program = sum_program(rows, columns, config, n_inputs)
    arguments = tensors(rows, columns, n_inputs)
    stats = launch(program, arguments)
    *inputs, output = [argument.numpy() for argument in arguments]
    np.testing.assert_array_equal(output, np.sum(inputs, axis=0, dtype=np.int32))
    assert stats.cycles == cycles_of(rows, columns, config, n_inputs)
    assert stats.commands == rows * (n_inputs + 1)
    assert stats.named == {"bytes_moved": 4 * rows * columns * (n_inputs + 1)}
    assert (stats.program, stats.macs, stats.bytes_loaded) == ("sum", 0, 0)
    assert device_api.program_cycles(program.to_bytes()) == stats.cycles


def test_the_timer_says_its_time() -> None:
    module = device_api.create_module({"sum": sum_program(ROWS, COLUMNS).to_bytes()})
    device = tvm.ext_dev(0)
    arguments = [tvm.runtime.tensor(tensor.numpy(), device) for tensor in tensors()]
    result = module.time_evaluator("sum", device, number=2, repeat=2)(*arguments)
    seconds = cycles_of(ROWS, COLUMNS) / (CONFIG.clock_khz * 1e3)
    assert list(result.results) == pytest.approx([seconds, seconds], rel=1e-6)


def test_the_host_in_front_of_it_is_that_of_its_numbers() -> None:
    slow = CONFIG.replace(host_cycles_per_command=7, host_cycles_per_instruction=3)
    program = sum_program(ROWS, COLUMNS, slow)
    cost = device_api.host_cost(program.to_bytes())
    assert cost.commands == 3 * ROWS
    moving = cycles_of(ROWS, COLUMNS) - cost.commands
    # The last command is behind the last instruction but for the end of the loop.
    most = moving + 7 * cost.commands + 3 * (cost.instructions - cost.commands)
    assert most - 3 * 8 <= launch(program).cycles < most


def test_raw_streams() -> None:
    base = 0x1000
    memory = np.arange(8, dtype=np.int32)
    words = [(0, base | what, 4) for what in (0,)] + [(0, base + 16 | STORE, 4)]
    packed = b"".join(np.array(word, "<u8").tobytes() for word in words)
    result = device_api.run_stream(CONFIG, packed, base, memory.tobytes())
    np.testing.assert_array_equal(np.frombuffer(result.memory, np.int32), [0, 1, 2, 3, 0, 1, 2, 3])
    assert (result.stats.cycles, dict(result.memories)) == (2 * (2 + 1), {})


def test_its_profile_is_what_launches_tell() -> None:
    program, arguments = sum_program(ROWS, COLUMNS), tensors()
    first, second = profile_program(program.to_bytes(), arguments, repeats=2)
    *inputs, output = [argument.numpy() for argument in arguments]
    np.testing.assert_array_equal(output, np.sum(inputs, axis=0, dtype=np.int32))
    stats = launch(program)
    assert (first.cycles, first.commands) == (stats.cycles, stats.commands)
    assert first.named == stats.named
    assert second.commands == first.commands
    assert first.parts == second.parts == {}


def test_it_has_no_timeline() -> None:
    with pytest.raises(RuntimeError, match=r"\[unsupported_command\] timeline: needs a kind"):
        profile_program(
            sum_program(ROWS, COLUMNS).to_bytes(), tensors(), receiver=lambda slices: True
        )


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (command(ADD, 0, COLUMNS), r"\[undefined_configuration\] command 0: nothing is loaded"),
        (command(3, 0, COLUMNS), r"\[unsupported_command\] command 0: has no meaning"),
        (command(0, 0, 4 * COLUMNS), r"\[address_out_of_range\] needs 80 B of DRAM at 0x80010000"),
        (command(STORE, 0, 1), r"\[address_out_of_range\] needs 4 B of writable DRAM at 0x80010"),
    ],
)
def test_what_it_refuses_is_an_error_of_the_device(bad: Command, text: str) -> None:
    program = replace(sum_program(ROWS, COLUMNS), body=(bad,))
    if "writable" in text:
        program = replace(program, body=(command(0, 1, 1), bad))
    with pytest.raises(RuntimeError, match=r"NpuDeviceError " + text):
        launch(program)


def test_limits() -> None:
    program = sum_program(ROWS, COLUMNS)
    cycles = cycles_of(ROWS, COLUMNS)
    try:
        device_api.set_limits(cycles - 1)
        with pytest.raises(RuntimeError, match=r"NpuDeviceError \[timed_out\] after 9 commands"):
            launch(program)
        device_api.set_limits(cycles)
        assert launch(program).cycles == cycles
    finally:
        device_api.set_limits()
    assert device_api.program_cycles(program.to_bytes(), cycles - 1) is None


def test_it_is_told_what_is_asked_for() -> None:
    seen: list[DeviceRun] = []

    def record(run: DeviceRun) -> dict[str, int]:
        seen.append(run)
        return {"cycles": 1, "macs": 2, "bytes_loaded": 3, "bytes_stored": 4, "own": 5}

    register_simulator("adder", record)
    program = sum_program(ROWS, COLUMNS)
    device_api.set_limits(1000)
    try:
        with device_api.without_race_checks():
            stats = launch(program)
    finally:
        device_api.set_limits()
    assert (stats.cycles, stats.macs, stats.bytes_loaded, stats.bytes_stored) == (1, 2, 3, 4)
    assert stats.named == {"own": 5}
    (run,) = seen
    assert dict(run.numbers) == {name: int(value) for name, value in CONFIG.numbers().items()}
    assert (run.computes_values, run.checks_races, run.max_cycles) == (True, False, 1000)
    words = program.expand({f"x{i}": 0x8001_0000 + 4096 * i for i in range(2)} | {"y": 0x8001_2000})
    assert [(int(f), int(a), int(b)) for f, (a, b) in zip(run.functs, run.words, strict=True)] == (
        words
    )
    assert list(run.host_cycles) == [1] * len(words)
    assert [held.is_writable for held in run.dram.ranges] == [False, False, True]
    seen.clear()
    device_api.program_cycles(program.to_bytes())
    (run,) = seen
    assert (run.computes_values, run.checks_races, run.dram.ranges) == (False, True, ())


def test_results_that_are_none() -> None:
    register_simulator("adder", lambda run: {"macs": 1})
    with pytest.raises(ValueError, match=r"npu\.simulator\.adder: needs to return cycles"):
        launch(sum_program(ROWS, COLUMNS))
    register_simulator("adder", lambda run: {"cycles": -1})
    with pytest.raises(ValueError, match="needs cycles of at least 0, has -1"):
        launch(sum_program(ROWS, COLUMNS))


def test_a_mistake_of_the_simulator_is_no_error_of_the_device() -> None:
    def fail(run: DeviceRun) -> dict[str, int]:
        raise ZeroDivisionError("a mistake")

    register_simulator("adder", fail)
    with pytest.raises(RuntimeError, match="a mistake") as caught:
        launch(sum_program(ROWS, COLUMNS))
    assert "NpuDeviceError" not in str(caught.value)


def test_a_kind_that_nobody_simulates() -> None:
    tvm_ffi.registry.remove_global_func(FUNCTION)
    program = sum_program(ROWS, COLUMNS).to_bytes()
    module = device_api.create_module({"sum": program})
    text = r"\[bad_program\] device kind 'adder': needs one of .*gemmini.*npu.simulator.adder"
    with pytest.raises(RuntimeError, match=text):
        module["sum"](*tensors())
    # What the host does is known without it.
    assert device_api.host_cost(program).commands == 3 * ROWS
    register_simulator("adder", simulate)
    module["sum"](*tensors())


def test_a_kind_that_gives_the_place_of_its_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    tvm_ffi.registry.remove_global_func(FUNCTION)
    adder = SimpleNamespace(name="adder", simulator_at="somewhere", simulate=simulate)
    other = SimpleNamespace(name="other", simulator_at=None)
    monkeypatch.setattr("npu_target.device.kinds", lambda: {"adder": adder, "other": other})
    _register.register()
    assert launch(sum_program(ROWS, COLUMNS)).cycles == cycles_of(ROWS, COLUMNS)
    assert tvm_ffi.get_global_func("npu.simulator.other", allow_missing=True) is None


def test_numbers_of_the_host_are_checked_for_all_kinds() -> None:
    numbers = CONFIG.numbers()
    device_api.check_config("adder", numbers)
    with pytest.raises(RuntimeError, match="clock_khz is 0, must be between 1 and"):
        device_api.check_config("adder", {**numbers, "clock_khz": 0})
    del numbers["host_registers"]
    with pytest.raises(RuntimeError, match="'host_registers' is missing"):
        device_api.check_config("adder", numbers)


@pytest.mark.parametrize("writable", [False, True])
def test_views_of_memory(writable: bool) -> None:
    def look(run: DeviceRun) -> dict[str, int]:
        output = run.dram.ranges[0]
        found = run.dram.array(output.address + 3, np.int16, (2, 2), writable)
        assert found.tolist() == [[0x0403, 0x0605], [0x0807, 0x0A09]]
        assert found.flags.writeable == writable
        for address in (output.address - 1, output.address + 9):
            with pytest.raises(DeviceError, match=r"needs 8 B of .*DRAM at 0x.*, has 0x80010000"):
                run.dram.array(address, np.int16, (2, 2), writable)
        if writable:
            found[1, 1] = -1
        return {"cycles": 0}

    register_simulator("adder", look)
    program = Program("look", CONFIG, (Arg("y", "output", "int8", (16,)),), ())
    data = tvm.runtime.tensor(np.arange(16, dtype=np.int8))
    launch(program, [data])
    expected = np.arange(16, dtype=np.int8)
    if writable:
        expected[9:11] = -1
    np.testing.assert_array_equal(data.numpy(), expected)


def test_arguments_lie_where_their_units_need_them() -> None:
    seen: list[DeviceRun] = []

    def record(run: DeviceRun) -> dict[str, int]:
        seen.append(run)
        return {"cycles": 0}

    register_simulator("adder", record)
    args = (Arg("x", "input", "int8", (16,)), Arg("y", "output", "int8", (16,)))
    words = (Operand.argument(0), Operand.argument(1, unit=15) * (1 << 26))
    launch(
        Program("units", CONFIG, args, (Command(0, *words),)),
        [tvm.runtime.tensor(np.zeros(16, np.int8)) for _ in args],
    )
    (run,) = seen
    first, second = run.dram.ranges
    assert second.address == 0x8001_8000
    assert run.words.tolist() == [[first.address, (second.address >> 15) << 26]]


@pytest.mark.rpc
def test_over_rpc(tmp_path: Any) -> None:
    path = tmp_path / "sum.npu"
    sum_program(ROWS, COLUMNS).save(path)
    cloudpickle.register_pickle_by_value(device_of_the_tests)
    server = rpc.Server(
        host="127.0.0.1",
        key="npu",
        server_init_callback=partial(register_simulator, "adder", simulate),
    )
    try:
        session = rpc.connect("127.0.0.1", server.port, key="npu")
        session.upload(str(path))
        module = session.load_module("sum.npu")
        device = session.ext_dev(0)
        arguments = [tvm.runtime.tensor(tensor.numpy(), device) for tensor in tensors()]
        mean = module.time_evaluator("sum", device)(*arguments).mean
        *inputs, output = [argument.numpy() for argument in arguments]
    finally:
        server.terminate()
    np.testing.assert_array_equal(output, np.sum(inputs, axis=0, dtype=np.int32))
    assert mean == pytest.approx(cycles_of(ROWS, COLUMNS) / (CONFIG.clock_khz * 1e3), rel=1e-6)
