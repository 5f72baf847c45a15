"""LOOP_WS against whole-matrix arithmetic, on random problems and tilings."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from device_api.loop_memory import (
    CONFIGS,
    FAST,
    SCALES,
    SETTINGS,
    SPAD_IDS,
    THOROUGH,
    Memory,
    check,
    padded,
)
from device_api.loop_streams import MatmulProblem, MatmulTile
from device_api.streams import config_ld, config_st
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import loops as reference

from npu_target.devices.gemmini import GemminiConfig


@st.composite
def matmuls(draw: st.DrawFn) -> tuple[GemminiConfig, MatmulProblem, str]:
    """A problem without addresses and strides, and its D: none, int32, int8 or a row."""
    dim = draw(st.sampled_from(sorted(CONFIGS)))
    m, n, k = (draw(st.integers(1, 5 * dim)) for _ in range(3))
    i = draw(st.integers(1, min(4, -(-m // dim))))
    j = draw(st.integers(1, min(16 // i, -(-n // dim))))
    kk = draw(st.integers(1, min(128 // (i + j), -(-k // dim))))
    transposed = draw(st.sampled_from(["", "a", "b"]))
    d = draw(st.sampled_from(["none", "int32", "int8", "row"]))
    problem = MatmulProblem(
        (m, n, k),
        (i, j, kk),
        (0, 0, 0, 0),
        (0, 0, 0, 0),
        transpose_a=transposed == "a",
        transpose_b=transposed == "b",
        full_c=draw(st.booleans()),
        low_d=d == "int8",
        relu=draw(st.booleans()),
        scale=draw(SCALES),
        spad_ids=draw(SPAD_IDS),
    )
    return CONFIGS[dim], problem, d


def check_matmul(config: GemminiConfig, problem: MatmulProblem, d_kind: str, seed: int) -> None:
    memory = Memory(seed)
    m, n, k = problem.shape
    extras = [int(extra) for extra in memory.random.integers(0, 6, 4)]
    a, b = memory.int8(m, k), memory.int8(k, n)
    d = {
        "none": None,
        "int32": memory.int32(m, n),
        "int8": memory.int8(m, n),
        "row": np.broadcast_to(memory.int32(1, n), (m, n)),
    }[d_kind]
    stored_a = padded(a.T if problem.transpose_a else a, extras[0])
    stored_b = padded(b.T if problem.transpose_b else b, extras[1])
    a_address, b_address = memory.add(stored_a), memory.add(stored_b)
    d_address = d_stride = 0
    if d is not None:
        stored_d = padded(d[:1] if d_kind == "row" else d, extras[2])
        d_address = memory.add(stored_d)
        d_stride = 0 if d_kind == "row" else stored_d.shape[1]
    c = reference.matmul(a, b, d, problem.scale, problem.relu, problem.full_c)
    stored_c = padded(np.zeros_like(c), extras[3])
    c_address = memory.add(stored_c)
    stored_c[:, :n] = c
    problem = dataclasses.replace(
        problem,
        addresses=(a_address, b_address, d_address, c_address),
        strides=(stored_a.shape[1], stored_b.shape[1], d_stride, stored_c.shape[1]),
    )
    check(config, problem.words(config), memory, memory.place(c_address, stored_c))


@given(matmuls(), st.integers(0, 2**32))
@FAST
def test_matmul(case: tuple[GemminiConfig, MatmulProblem, str], seed: int) -> None:
    check_matmul(*case, seed)


@pytest.mark.slow
@given(matmuls(), st.integers(0, 2**32))
@THOROUGH
def test_many_matmuls(case: tuple[GemminiConfig, MatmulProblem, str], seed: int) -> None:
    check_matmul(*case, seed)


@given(
    st.sampled_from(sorted(CONFIGS)),
    st.integers(1, 3),
    st.integers(1, 5),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.tuples(SCALES, SCALES, SCALES),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32),
)
@FAST
def test_residual_add(
    dim: int,
    i: int,
    j: int,
    pads: tuple[int, int],
    scales: tuple[float, float, float],
    relu: bool,
    in_place: bool,
    seed: int,
) -> None:
    config, memory = CONFIGS[dim], Memory(seed)
    rows, cols = i * dim - pads[0], j * dim - pads[1]
    tiles = 3  # both slots, and the first again
    a, b = memory.int8(tiles * rows, cols), memory.int8(tiles * rows, cols)
    a_address, b_address = memory.add(a), memory.add(b)
    c_address = a_address if in_place else memory.add(np.zeros_like(a))
    words = [
        config_st(cols, scales[2], relu),
        config_ld(cols, scales[0], True, 0, dim),
        config_ld(cols, scales[1], True, 1, dim),
    ]
    for tile in range(tiles):
        skip = tile * rows * cols
        words += MatmulTile(
            (i, j, 0),
            (pads[0], pads[1], 0),
            (a_address + skip, b_address + skip, 0, c_address + skip),
            (cols, cols, 0, cols),
            residual_add=True,
        ).words()
    c = reference.residual_add(a, b, *scales, relu)
    check(config, words, memory, memory.place(c_address, c))


@given(st.sampled_from(sorted(CONFIGS)), st.integers(0, 2**32))
@settings(max_examples=20, **SETTINGS)
def test_parts_of_a_loop(dim: int, seed: int) -> None:
    """Loads, computes and stores by three loops, each skipping what the others do."""
    config, memory = CONFIGS[dim], Memory(seed)
    a, b, d = memory.int8(dim, 2 * dim), memory.int8(2 * dim, dim), memory.int32(dim, dim)
    addresses = memory.add(a), memory.add(b), memory.add(d), memory.add(np.zeros_like(d))
    tile = MatmulTile(
        (1, 1, 2), (0, 0, 0), addresses, (2 * dim, dim, dim, dim), True, True, spad_ids=(1, 2)
    )
    words = MatmulProblem(
        (dim, dim, 2 * dim), (1, 1, 2), addresses, tile.strides, full_c=True
    ).configuration(dim)
    for skipped in (0b11000, 0b10111, 0b01111):
        words += dataclasses.replace(tile, skipped=skipped).words()
    expected = memory.place(addresses[3], reference.matmul(a, b, d, full_c=True))
    check(config, words, memory, expected)
