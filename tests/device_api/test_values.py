"""The simulator's values against the NumPy reference, bit for bit, on random correct streams."""

from __future__ import annotations

import numpy as np
import pytest
from device_api.streams import (
    ACC,
    ACCUMULATE,
    BASE,
    CONFIGS,
    MEMORY_BYTES,
    SMALL,
    Words,
    config_ex,
    config_ld,
    config_st,
    local,
    pack,
    streams,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.device import GARBAGE, ReferenceDevice

from npu_target.device_api import run_stream
from npu_target.devices.gemmini import GemminiConfig

SETTINGS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


def check_against_reference(config: GemminiConfig, commands: list[Words], seed: int) -> None:
    random = np.random.default_rng(seed)
    memory = random.integers(0, 256, MEMORY_BYTES, dtype=np.uint8)
    spad = random.integers(-128, 128, (config.spad_rows, config.dim), dtype=np.int8)
    # Far out and close to zero: some sums wrap, others stay in reach of the scales.
    acc = random.integers(-(2**31), 2**31, (config.acc_rows, config.dim), dtype=np.int32)
    acc >>= random.integers(0, 31, acc.shape, dtype=np.int32)
    memories = {"spad": spad.tobytes(), "acc": acc.tobytes()}
    result = run_stream(config, pack(commands), BASE, memory.tobytes(), memories)
    ReferenceDevice(BASE, memory, spad, acc, config.array_output_bits).run(commands)
    np.testing.assert_array_equal(np.frombuffer(result.memory, np.uint8), memory)
    np.testing.assert_array_equal(np.frombuffer(result.memories["spad"], np.int8), spad.ravel())
    np.testing.assert_array_equal(np.frombuffer(result.memories["acc"], np.int32), acc.ravel())
    assert result.stats.commands == len(commands)


@given(streams(), st.integers(0, 2**32))
@settings(max_examples=800, **SETTINGS)
def test_random_streams(stream: tuple[GemminiConfig, list[Words]], seed: int) -> None:
    check_against_reference(*stream, seed)


@pytest.mark.slow
@given(streams(), st.integers(0, 2**32))
@settings(max_examples=16000, **SETTINGS)
def test_many_random_streams(stream: tuple[GemminiConfig, list[Words]], seed: int) -> None:
    check_against_reference(*stream, seed)


def test_the_reference_is_not_blind() -> None:
    """A stream whose effect is known by hand, through the reference alone."""
    memory = np.arange(64, dtype=np.uint8)
    spad, acc = np.zeros((8, 4), np.int8), np.zeros((8, 4), np.int32)
    device = ReferenceDevice(BASE, memory, spad, acc)
    device.run(
        [
            config_ld(4, 1.0, block_stride=4),
            (2, BASE, local(0, 2, 2)),  # A = [[0, 1], [4, 5]]
            (2, BASE + 8, local(4, 2, 2)),  # B = [[8, 9], [12, 13]]
            config_ex(),
            (6, local(4, 2, 2), local(ACC, 2, 2)),
            (4, local(0, 2, 2), 0xFFFFFFFF),
            config_st(4, 0.5),
            (3, BASE + 32, local(ACC, 2, 2)),
        ]
    )
    assert acc[:2, :2].tolist() == [[12, 13], [92, 101]]
    # 6.5 goes to 6 and 50.5 to 50: half to even.
    assert memory[32:40].tolist() == [6, 6, 34, 35, 46, 50, 38, 39]


@pytest.mark.parametrize("bits", [17, 20, 32])
@pytest.mark.parametrize("is_ws", [False, True])
@pytest.mark.parametrize("dim", [16, 32])
def test_sums_in_the_array_wrap(dim: int, is_ws: bool, bits: int) -> None:
    """All products are 128 x 128: output-stationary, 40 computes add up to more than 20 bits."""
    config = CONFIGS[dim].replace(array_output_bits=bits)
    tile = local(0, dim, dim)
    zeros = local(GARBAGE, dim, dim)
    words = [config_ld(dim, block_stride=dim), (2, BASE, tile), config_ex(is_ws)]
    for i in range(40):
        result = local(ACCUMULATE if i == 39 or is_ws else GARBAGE, dim, dim)
        words.append((6, (tile if is_ws else zeros) if i == 0 else zeros, result))
        words.append((4 if i == 0 else 5, tile, zeros if is_ws else tile))
    memory = np.full(MEMORY_BYTES, 0x80, np.uint8)
    spad = np.zeros((config.spad_rows, dim), np.int8)
    acc = np.zeros((config.acc_rows, dim), np.int32)
    start = (BASE, memory.tobytes(), {"spad": spad.tobytes(), "acc": acc.tobytes()})
    result = run_stream(config, pack(words), *start)
    half, product = 2 ** (bits - 1), 128 * 128 * dim
    sums = [product] * 40 if is_ws else [40 * product]
    expected = sum((s + half) % (2 * half) - half for s in sums)
    assert np.frombuffer(result.memories["acc"], np.int32)[0] == expected
    ReferenceDevice(BASE, memory, spad, acc, bits).run(words)
    np.testing.assert_array_equal(np.frombuffer(result.memories["acc"], np.int32), acc.ravel())


@pytest.mark.parametrize("scale", [float("inf"), float("-inf"), float("nan")])
def test_zeros_are_not_scaled(scale: float) -> None:
    commands = [config_ld(16, scale), (2, 0, local(0, 16, 16))]
    check_against_reference(SMALL, commands, seed=0)


@pytest.mark.parametrize("row", [0, 1, 62, 63, 64, 65, 66])
def test_pixel_repeats_stay_in_their_half(row: int) -> None:
    assert SMALL.spad_rows == 128
    commands = [config_ld(4, block_stride=4, repeats=4), (2, BASE, local(row, 3, 4))]
    check_against_reference(SMALL, commands, seed=row)


def test_scale_of_all_ones_is_kept() -> None:
    keep = (0, 2, 0xFFFFFFFF << 32 | 16)
    commands = [config_st(16, 0.01), keep, (3, BASE, local(ACC, 16, 16))]
    check_against_reference(SMALL, commands, seed=0)


@pytest.mark.parametrize(("is_ws", "c_stride"), [(False, 1), (True, 3)])
def test_strides_alone_keep_the_mode(is_ws: bool, c_stride: int) -> None:
    strides = (0, 2 << 16 | 1 << 7, c_stride << 48)
    commands = [
        config_ex(is_ws=is_ws, relu=True, transpose_a=True, shift=7),
        strides,
        (6, local(0, 16, 16), local(40, 16, 16)),
        (4, local(64, 16, 16), local(8, 16, 16)),
    ]
    check_against_reference(SMALL, commands, seed=0)
