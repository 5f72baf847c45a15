"""LOOP_CONV_WS against whole-tensor arithmetic, on random problems and tilings."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from device_api.loop_memory import CONFIGS, FAST, SCALES, SPAD_IDS, THOROUGH, Memory, check, padded
from device_api.loop_streams import ConvProblem
from device_api.streams import Words
from hypothesis import given
from hypothesis import strategies as st
from reference import loops as reference

from npu_target.devices.gemmini import GemminiConfig


def fits(config: GemminiConfig, problem: ConvProblem) -> bool:
    """Whether a tile takes at most half of each memory."""
    batches, prows, pcols, ochs, krows, kcols, kchs = problem.tile
    size, pool_stride, _ = problem.pooling

    def blocks(channels: int) -> int:
        return -(-channels // config.dim)

    outs = [n * pool_stride + size - 1 for n in (prows, pcols)]
    ins = [
        out * problem.stride + (k - 1) * problem.kernel_dilation + 1
        for out, k in zip(outs, (krows, kcols), strict=True)
    ]
    if problem.input_dilation == 2:
        ins = [n // 2 + 2 for n in ins]
    pixels = math.prod(ins)
    if problem.input_3120:
        input_rows = blocks(batches) * kchs * pixels
    else:
        input_rows = blocks(kchs) * batches * pixels
    taps = krows * kcols
    weight_rows = taps * (blocks(kchs) * ochs if problem.weight_0132 else blocks(ochs) * kchs)
    acc_rows = blocks(ochs) * batches * math.prod(outs)
    return input_rows + weight_rows <= config.spad_rows // 2 and acc_rows <= config.acc_rows // 2


@st.composite
def convs(draw: st.DrawFn) -> tuple[GemminiConfig, ConvProblem]:
    """A problem without addresses."""
    dim = draw(st.sampled_from(sorted(CONFIGS)))
    config = CONFIGS[dim]
    kernel = draw(st.integers(1, 3))
    special = draw(
        st.sampled_from(
            ["", "", "pool", "pixels", "dilated input", "dilated kernel", "downsample",
             "output_1203", "weight_1203", "weight_0132", "input_3120"]
        )
    )  # fmt: skip
    if special == "downsample":
        kernel = 1
    padding = 0 if special == "downsample" else draw(st.integers(0, kernel - 1))
    dilation = 2 if special == "dilated kernel" else 1
    least = max(1, (kernel - 1) * dilation + 1 - 2 * padding)
    rows, cols = (draw(st.integers(least, least + 9)) for _ in range(2))
    stride = 1 if special == "dilated input" else draw(st.integers(1, 2))
    if special == "downsample":
        rows, cols, stride = rows + rows % 2, cols + cols % 2, 2
    pixels = 1
    in_channels = draw(st.integers(1, 2 * dim + 1))
    if special == "pixels":
        pixels = draw(st.integers(2, dim))
        in_channels = draw(st.integers(1, dim // pixels))
    problem = ConvProblem(
        batch=draw(st.integers(1, 2 * dim if special == "input_3120" else 2)),
        in_shape=(rows, cols),
        in_channels=in_channels,
        out_channels=draw(st.integers(1, 2 * dim + 1)),
        kernel=kernel,
        addresses=(0, 0, 0, 0),
        tile=(1, 1, 1, 1, 1, 1, 1),
        stride=stride,
        padding=padding,
        kernel_dilation=dilation,
        input_dilation=2 if special == "dilated input" else 1,
        has_bias=draw(st.booleans()),
        relu=draw(st.booleans()),
        scale=draw(SCALES),
        rotate_180=special not in ("pixels",) and draw(st.booleans()),
        output_1203=special == "output_1203",
        weight_1203=special == "weight_1203",
        weight_0132=special == "weight_0132",
        input_3120=special == "input_3120",
        pixels_per_row=pixels,
        spad_ids=draw(SPAD_IDS),
    )
    if special == "pool":
        size = draw(st.integers(1, min(3, *problem.out_shape)))
        pool = (size, draw(st.integers(1, 3)), draw(st.integers(0, size - 1)))
        problem = dataclasses.replace(problem, pool=pool)
    wholes = (problem.batch, *problem.pooled_shape, problem.out_channels, kernel, kernel,
              in_channels)  # fmt: skip
    return config, tiled(draw, config, problem, wholes)


def tiled(
    draw: st.DrawFn, config: GemminiConfig, problem: ConvProblem, wholes: tuple[int, ...]
) -> ConvProblem:
    """`problem` with a tile that fits: random sizes, halved until they do."""
    tile = [draw(st.integers(-(-whole // 2), whole)) for whole in wholes]
    for axis, step in ((3, config.dim), (6, config.dim)):
        # Blocks of channels end where tiles do.
        tile[axis] = (
            tile[axis] if tile[axis] == wholes[axis] else max(step, tile[axis] // step * step)
        )
    if problem.input_3120:
        tile[0] = wholes[0]  # the hardware takes the tile's batches for the whole's
    problem = dataclasses.replace(problem, tile=tuple(tile))
    while not fits(config, problem):
        axis = max((1, 2, 3, 6) if problem.input_3120 else (0, 1, 2, 3, 6), key=tile.__getitem__)
        tile[axis] = max(1, tile[axis] // 2)
        problem = dataclasses.replace(problem, tile=tuple(tile))
    return problem


def check_conv(config: GemminiConfig, problem: ConvProblem, seed: int) -> None:
    memory = Memory(seed)
    kernel, channels = problem.kernel, problem.in_channels
    x = memory.int8(problem.batch, *problem.in_shape, channels)
    weights = memory.int8(kernel, kernel, channels, problem.out_channels)
    bias = memory.int32(problem.out_channels)
    extras = [0, 0, 0] if (problem.output_1203 or problem.weight_0132 or problem.weight_1203) else [
        int(extra) for extra in memory.random.integers(0, 4, 3)
    ]  # fmt: skip

    def wide(values: np.ndarray, extra: int) -> np.ndarray:
        return padded(values.reshape(-1, values.shape[-1]), extra)

    stored_x = x.transpose(3, 1, 2, 0) if problem.input_3120 else wide(x, extras[0])
    stored_weights = wide(weights, extras[1])
    if problem.weight_1203:
        stored_weights = weights.transpose(2, 0, 1, 3)
    elif problem.weight_0132:
        stored_weights = weights.transpose(0, 1, 3, 2)
    seen = weights[::-1, ::-1] if problem.rotate_180 else weights
    total = reference.conv(
        x, seen, bias if problem.has_bias else None, problem.stride, problem.padding,
        problem.kernel_dilation, problem.input_dilation,
    )  # fmt: skip
    y = reference.to_int8(total, problem.scale, problem.relu)
    if problem.pool is not None:
        y = reference.max_pool(y, *problem.pool)
    stored_y = y.transpose(1, 2, 0, 3) if problem.output_1203 else wide(y, extras[2])
    addresses = (
        memory.add(stored_x),
        memory.add(stored_weights),
        memory.add(bias),
        memory.add(np.full_like(stored_y, 77)),
    )
    strides = (channels + extras[0], problem.out_channels + extras[1],
               problem.out_channels + extras[2])  # fmt: skip
    problem = dataclasses.replace(problem, addresses=addresses, strides=strides)
    check(config, problem.words(), memory, memory.place(addresses[3], stored_y))


@given(convs(), st.integers(0, 2**32))
@FAST
def test_conv(case: tuple[GemminiConfig, ConvProblem], seed: int) -> None:
    check_conv(*case, seed)


@pytest.mark.slow
@given(convs(), st.integers(0, 2**32))
@THOROUGH
def test_many_convs(case: tuple[GemminiConfig, ConvProblem], seed: int) -> None:
    check_conv(*case, seed)


@given(
    st.sampled_from(sorted(CONFIGS)),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 2),
    st.booleans(),
    st.integers(0, 2**32),
)
@FAST
def test_depthwise(
    dim: int, channels: int, kernel: int, stride: int, has_bias: bool, seed: int
) -> None:
    """One loop per channel, the weights stored [channel, kernel row, kernel column]."""
    config, memory = CONFIGS[dim], Memory(seed)
    x = memory.int8(1, 6, 5, channels)
    weights, bias = memory.int8(channels, kernel, kernel), memory.int32(channels)
    padding = kernel // 2
    outs = [
        reference.conv(
            x[..., [c]],
            weights[c][..., None, None],
            bias[[c]] if has_bias else None,
            stride,
            padding,
        )
        for c in range(channels)
    ]
    y = reference.to_int8(np.concatenate(outs, axis=-1), 0.05, relu=True)
    addresses = (memory.add(x), memory.add(weights), memory.add(bias), memory.add(y * 0))
    words: list[Words] = []
    for c in range(channels):
        own = (addresses[0] + c, addresses[1] + c * kernel**2, addresses[2] + 4 * c,
               addresses[3] + c)  # fmt: skip
        problem = ConvProblem(
            1, (6, 5), 1, 1, kernel, own, (1, 2, 3, 1, kernel, kernel, 1), stride, padding,
            has_bias=has_bias, relu=True, scale=0.05, strides=(channels, 1, channels),
        )  # fmt: skip
        words += [(f, r1 | (f == 15) << 6, r2) for f, r1, r2 in problem.words()]
    check(config, words, memory, memory.place(addresses[3], y))
