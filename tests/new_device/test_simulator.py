"""The device of the template by itself: values, time, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from my_npu.commands import Clear, Load, Multiply, Store
from my_npu.config import MyNpuConfig
from my_npu.simulator import simulate

from npu_target.device.commands import DeviceCommand
from npu_target.device_api.simulators import DeviceError, DeviceRun, Dram, DramRange

CONFIG = MyNpuConfig()
BASE = 0x8000_0000
HOST_CYCLES = 1


def run(
    commands: list[DeviceCommand], memory: np.ndarray | None = None, config: MyNpuConfig = CONFIG
) -> dict[str, int]:
    words = np.array([command.encode() for command in commands], np.uint64).reshape(-1, 3)
    ranges = []
    if memory is not None:
        ranges.append(DramRange(BASE, memory.ctypes.data, memory.nbytes, True))
    return simulate(
        DeviceRun(
            numbers={name: int(value) for name, value in config.numbers().items()},
            host_cycles=np.full(len(words), HOST_CYCLES, np.uint64),
            functs=words[:, 0],
            words=words[:, 1:],
            dram=Dram(ranges),
            computes_values=memory is not None,
            checks_races=True,
            max_cycles=0,
        )
    )


@given(
    st.integers(1, 9), st.integers(1, 3), st.integers(0, 15), st.booleans(), st.integers(0, 2**32)
)
def test_products(rows: int, step: int, shift: int, relu: bool, seed: int) -> None:
    """Rows of vectors some apart, twice the same product, over what the sums began with."""
    random = np.random.default_rng(seed)
    x = random.integers(-128, 128, ((rows - 1) * step + 1, 16), np.int8)
    w = random.integers(-128, 128, (16, 16), np.int8)
    bias = random.integers(-(2**31), 2**31, 16, np.int32)
    memory = np.frombuffer(x.tobytes() + w.tobytes() + bias.tobytes() + bytes(rows * 16), np.int8)
    memory = memory.copy()
    at_w, at_bias = BASE + x.nbytes, BASE + x.nbytes + w.nbytes
    product = Multiply(vector=16, matrix=0, to=3, rows=rows, step=step)
    stats = run(
        [
            Load(at_w, row=0, rows=16, columns=16, stride=16),
            Load(BASE, row=16, rows=len(x), columns=16, stride=16),
            Load(at_bias, row=3, rows=rows, columns=16, stride=0, to_sums=True),
            product,
            product,
            Store(at_bias + 64, row=3, rows=rows, columns=16, shift=shift, stride=16, relu=relu),
        ],
        memory,
    )
    sums = (bias + 2 * (x[::step].astype(np.int64) @ w)).astype(np.int32)
    half = np.int32(1 << shift >> 1)
    wanted = np.clip((sums + half) >> shift, 0 if relu else -128, 127).astype(np.int8)
    np.testing.assert_array_equal(memory[-rows * 16 :].reshape(rows, 16), wanted)
    assert stats["macs"] == 2 * rows * 256
    assert stats["bytes_loaded"] == x.nbytes + w.nbytes + rows * bias.nbytes
    assert stats["bytes_stored"] == rows * 16


def test_what_is_left_of_a_row_is_0() -> None:
    memory = np.arange(1, 81, dtype=np.int8)
    run(
        [
            Load(BASE, row=0, rows=1, columns=3, stride=0, to_sums=True),
            Store(BASE + 64, row=0, rows=1, columns=16, shift=0, stride=0),
        ],
        memory,
    )
    sums = np.arange(1, 13, dtype=np.int8).view(np.int32)
    assert memory[64:].tolist() == [*np.clip(sums, -128, 127), *[0] * 13]


def test_commands_wait_for_rows_and_for_their_queue() -> None:
    clear, copy = Clear(row=0, rows=10, to_sums=True), CONFIG.copy_cycles(10, 16)
    store = Store(BASE, row=0, rows=10, columns=16, shift=0, stride=16)
    assert run([clear])["cycles"] == HOST_CYCLES + 10
    assert run([clear, store])["cycles"] == HOST_CYCLES + 10 + copy
    other = Clear(row=10, rows=10, to_sums=True)
    assert run([clear, store, other])["cycles"] == run([clear, store])["cycles"], "side by side"
    # Behind others in another queue; where that is full, the host comes to the store late.
    busy = [clear, *[Clear(row=0, rows=10)] * 20, store]
    assert run(busy, config=CONFIG.replace(queue_entries=64))["cycles"] == HOST_CYCLES + 210
    last_begins = HOST_CYCLES + 200
    late = run(busy, config=CONFIG.replace(queue_entries=1))["cycles"]
    assert late == last_begins + HOST_CYCLES + copy


@pytest.mark.parametrize(
    ("command", "kind", "message"),
    [
        (Clear(row=4090, rows=7), "address_out_of_range", "row 4096 of 4096"),
        (Clear(row=1024, rows=1, to_sums=True), "address_out_of_range", "row 1024 of 1024"),
        (Clear(row=0, rows=65), "unsupported_command", "clear: rows is 65, needs 1 to 64"),
        (Clear(row=0, rows=0), "unsupported_command", "clear: rows is 0"),
        (Store(BASE, 0, 1, 17, 0, 0), "unsupported_command", "store: columns is 17"),
        (Store(BASE, 0, 1, 1, 0, 0), "garbage_operand", "nothing wrote some of rows 0 to 0"),
        (Store(BASE, 9, 1, 1, 24, 0), "unsupported_command", "no power of two from"),
        (Store(BASE + 99, 9, 2, 1, 0, 1), "address_out_of_range", "needs 2 B of writable DRAM"),
        (Load(BASE - 1, 0, 1, 1, 0), "address_out_of_range", "needs 1 B of DRAM"),
        (Multiply(0, 0, 0, 1, 0), "unsupported_command", "multiply: step is 0"),
        (Multiply(9, 0, 9, 2, 1, True), "garbage_operand", "rows 9 to 10"),
        (Multiply(9, 0, 0, 1, 1), "garbage_operand", "rows 0 to 15"),
    ],
)
def test_what_it_refuses(command: DeviceCommand, kind: str, message: str) -> None:
    """The first row of either memory that was written is the tenth."""
    before = [Clear(row=9, rows=1), Clear(row=9, rows=2, to_sums=True)]
    with pytest.raises(DeviceError, match=message) as caught:
        run([*before, command], np.zeros(100, np.int8))
    assert caught.value.kind == kind


def test_a_word_that_is_no_command() -> None:
    class Unknown(Clear, mnemonic="unknown", funct=0, tag=7, tag_mask=7):
        """Of no device."""

    with pytest.raises(DeviceError, match="the device has no such command"):
        run([Unknown(row=0, rows=1)])
