"""Programs as TVM runtime modules: calls, files, export, RPC, time and refusals."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from device_api.streams import config_ld, config_st, local
from tvm import rpc

from npu_target import device_api
from npu_target.devices.gemmini import GemminiConfig
from npu_target.program import Address, Arg, Command, Loop, Operand, Program, const

CONFIG = GemminiConfig()
TILES = 3
SHAPE = (TILES * CONFIG.dim, CONFIG.dim)


def copy_program(name: str = "copy", config: GemminiConfig = CONFIG) -> Program:
    """Copies x to y, one square tile an iteration."""
    tile = config.dim * config.dim

    def words(funct: int, rs1: Operand | int, rs2: Operand | int) -> Command:
        return Command(funct, *(w if isinstance(w, Operand) else Operand(w) for w in (rs1, rs2)))

    where = Operand(local(0, config.dim, config.dim), None, ((0, config.dim),))
    return Program(
        name=name,
        config=config,
        args=(Arg("x", "input", "int8", SHAPE), Arg("y", "output", "int8", SHAPE)),
        body=(
            words(*config_ld(config.dim)),
            words(*config_st(config.dim)),
            Loop(
                0,
                const(TILES),
                (
                    words(2, Operand(0, Address(0), ((0, tile),)), where),
                    words(3, Operand(0, Address(1), ((0, tile),)), where),
                ),
            ),
        ),
    )


@pytest.fixture(scope="module")
def module() -> Any:
    return device_api.create_module({"copy": copy_program().to_bytes()})


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).integers(-128, 128, SHAPE, dtype=np.int8)


def check_copies(module: Any, x: np.ndarray, device: Any) -> None:
    source = tvm.runtime.tensor(x, device)
    target = tvm.runtime.tensor(np.zeros_like(x), device)
    module["copy"](source, target)
    np.testing.assert_array_equal(target.numpy(), x)
    np.testing.assert_array_equal(source.numpy(), x)


@pytest.mark.parametrize("device", [tvm.cpu(0), tvm.ext_dev(0)], ids=["cpu", "ext_dev"])
def test_call(module: Any, x: np.ndarray, device: Any) -> None:
    check_copies(module, x, device)


def test_device_is_known() -> None:
    assert tvm.ext_dev(0).exist
    assert not tvm.ext_dev(1).exist


@pytest.mark.slow
@pytest.mark.parametrize("first", ["tvm", "npu_target.device_api", "npu_target._register"])
def test_device_is_known_in_any_import_order(first: str, tmp_path: Path) -> None:
    code = f"import {first}, tvm; print(tvm.ext_dev(0).exist)"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert (run.returncode, run.stdout.strip()) == (0, "True"), run.stderr


def test_stats(module: Any, x: np.ndarray) -> None:
    check_copies(module, x, tvm.cpu(0))
    stats = device_api.last_stats()
    assert stats is not None
    assert stats.program == "copy"
    assert stats.commands == 2 + 2 * TILES
    assert stats.bytes_loaded == stats.bytes_stored == x.nbytes
    assert stats.macs == 0
    assert stats.cycles > stats.bytes_loaded // CONFIG.bus_bytes


def test_time_evaluator_gives_simulated_time(module: Any, x: np.ndarray) -> None:
    device = tvm.ext_dev(0)
    tensors = [tvm.runtime.tensor(x, device), tvm.runtime.tensor(x, device)]
    result = module.time_evaluator("copy", device, number=3, repeat=2)(*tensors)
    stats = device_api.last_stats()
    assert stats is not None
    seconds = stats.cycles / (CONFIG.clock_khz * 1e3)
    # Cold caches at each launch: every repeat takes the same time.
    assert list(result.results) == pytest.approx([seconds, seconds], rel=1e-9)


def test_clock_of_the_program_counts(x: np.ndarray) -> None:
    # The DRAM's clock goes on with it, so that all times are four times as long.
    clocks = {name: getattr(CONFIG, name) // 4 for name in ("clock_khz", "dram_clock_khz")}
    slow = CONFIG.replace(name="slow-clock", **clocks)
    programs = {"fast": copy_program().to_bytes(), "slow": copy_program(config=slow).to_bytes()}
    module = device_api.create_module(programs)
    device = tvm.ext_dev(0)
    tensors = [tvm.runtime.tensor(x, device), tvm.runtime.tensor(x, device)]
    fast, slow_time = (module.time_evaluator(n, device)(*tensors).mean for n in ("fast", "slow"))
    assert slow_time == pytest.approx(4 * fast, rel=1e-6)


def test_file_round_trip(module: Any, x: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "kernel.npu"
    module.write_to_file(str(path), "npu")
    assert path.read_bytes() == copy_program().to_bytes()
    check_copies(tvm.runtime.load_module(str(path)), x, tvm.cpu(0))


def test_exported_inside_a_host_library(module: Any, x: np.ndarray, tmp_path: Path) -> None:
    from tvm.script import tirx as T

    @T.prim_func
    def identity(a: T.Buffer((4,), "int8"), b: T.Buffer((4,), "int8")):
        for i in range(4):
            b[i] = a[i]

    host = tvm.compile(tvm.IRModule({"identity": identity}), target="llvm")
    host.mod.import_module(module)
    path = tmp_path / "library.so"
    host.export_library(str(path))
    loaded = tvm.runtime.load_module(str(path))
    check_copies({"copy": loaded.get_function("copy", query_imports=True)}, x, tvm.cpu(0))


@pytest.mark.rpc
def test_over_rpc(x: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "kernel.npu"
    copy_program().save(path)
    server = rpc.Server(host="127.0.0.1", key="npu")
    try:
        session = rpc.connect("127.0.0.1", server.port, key="npu")
        session.upload(str(path))
        module = session.load_module("kernel.npu")
        device = session.ext_dev(0)
        check_copies(module, x, device)
        tensors = [tvm.runtime.tensor(x, device), tvm.runtime.tensor(x, device)]
        remote = module.time_evaluator("copy", device)(*tensors).mean
    finally:
        server.terminate()
    check_copies(device_api.create_module({"copy": path.read_bytes()}), x, tvm.cpu(0))
    stats = device_api.last_stats()
    assert stats is not None
    assert remote == pytest.approx(stats.cycles / (CONFIG.clock_khz * 1e3), rel=1e-9)


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda x: [x], "needs 2 tensors, has 1"),
        (lambda x: [x, x.astype(np.uint8)], "argument 1 'y': needs dtype int8, has uint8"),
        (lambda x: [x[:-1], x], r"argument 0 'x': needs shape \(48, 16\), has \(47, 16\)"),
        (lambda x: [x.reshape(16, 48), x], r"needs shape \(48, 16\), has \(16, 48\)"),
        (lambda x: [x, x.ravel()], r"needs shape \(48, 16\), has \(768\)"),
        (lambda x: [x, 3], "argument 1 'y': needs a tensor, has int"),
    ],
)
def test_wrong_arguments(module: Any, x: np.ndarray, spoil: Any, text: str) -> None:
    arguments = [tvm.runtime.tensor(a) if isinstance(a, np.ndarray) else a for a in spoil(x)]
    with pytest.raises(RuntimeError, match=r"NpuDeviceError \[bad_program\] 'copy'.*" + text):
        module["copy"](*arguments)


def test_strided_argument(module: Any, x: np.ndarray) -> None:
    with pytest.raises(RuntimeError, match="needs a contiguous tensor, has stride"):
        module["copy"](tvm_ffi.from_dlpack(np.asfortranarray(x)), tvm.runtime.tensor(x))


def test_a_store_into_an_input_is_refused(x: np.ndarray) -> None:
    program = copy_program()
    swapped = Program(
        program.name,
        program.config,
        (Arg("x", "output", "int8", SHAPE), Arg("y", "input", "int8", SHAPE)),
        program.body,
    )
    module = device_api.create_module({"copy": swapped.to_bytes()})
    tensors = [tvm.runtime.tensor(x), tvm.runtime.tensor(x)]
    with pytest.raises(
        RuntimeError, match=r"\[address_out_of_range\] command 3 mvout\(.*'y'.*read-only"
    ):
        module["copy"](*tensors)


def test_limit_on_cycles(module: Any, x: np.ndarray) -> None:
    check_copies(module, x, tvm.cpu(0))
    stats = device_api.last_stats()
    assert stats is not None
    try:
        device_api.set_limits(max_cycles=stats.cycles - 1)
        with pytest.raises(RuntimeError, match=r"NpuDeviceError \[timed_out\]"):
            check_copies(module, x, tvm.cpu(0))
        device_api.set_limits(max_cycles=stats.cycles)
        check_copies(module, x, tvm.cpu(0))
    finally:
        device_api.set_limits()


@pytest.mark.parametrize("has_commands", [True, False])
def test_an_endless_program_can_be_interrupted(has_commands: bool) -> None:
    flush = Command(7, Operand(0), Operand(0))
    body = (Loop(0, const(2**60), (flush if has_commands else Loop(1, const(0), (flush,)),)),)
    program = Program("endless", CONFIG, (), body)
    endless = device_api.create_module({"endless": program.to_bytes()})["endless"]

    def stop(signum: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            endless()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("size", [0, 7, 8, 100])
def test_malformed_module_bytes(size: int) -> None:
    load = tvm.get_global_func("ffi.Module.load_from_bytes.npu")
    saved = b"NPUMODS\x01\x01\0\0\0\x04\0\0\0copy" + copy_program().to_bytes()
    with pytest.raises(RuntimeError, match=r"NpuDeviceError \[bad_program\]"):
        load(saved[:size])


def test_malformed_files(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"NpuDeviceError \[bad_program\]"):
        device_api.create_module({"copy": copy_program().to_bytes()[:-1]})
    path = tmp_path / "empty.npu"
    path.touch()
    with pytest.raises(RuntimeError, match=r"NpuDeviceError \[bad_program\]"):
        tvm.runtime.load_module(str(path))
    with pytest.raises(RuntimeError, match="cannot read"):
        tvm_ffi.load_module(str(tmp_path / "missing.npu"))
