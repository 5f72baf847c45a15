"""Operators of all kinds and usual sizes, drawn at random: what no constant was fitted to."""

from __future__ import annotations

import random
from collections.abc import Callable

from npu_target.device import DeviceConfig
from npu_target.topi import (
    Add,
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool,
    Matmul,
    MaxPool2d,
    Operator,
)

# The simulator takes a tenth of a second for so many multiply-accumulates.
_MOST_MACS = 300_000_000
_SIDES = (7, 8, 10, 12, 13, 14, 16, 17, 20, 24, 26, 28, 32, 35, 40, 52, 56, 64, 80, 112)
_CHANNELS = (16, 24, 32, 40, 48, 64, 72, 80, 96, 112, 128, 144, 160, 192, 200, 240, 256, 320, 384,
             480, 512, 640, 768, 960, 1024)  # fmt: skip


def draw_operators(seed: int, number: int, config: DeviceConfig) -> list[Operator]:
    """``number`` different operators as the device computes them, the kinds in turns; the same
    ones for the same seed and array side."""
    generator = random.Random(seed)
    found: dict[Operator, None] = {}
    while len(found) < number:
        kind = _KINDS[len(found) % len(_KINDS)]
        operator = kind(generator, config)
        if operator.macs <= _MOST_MACS:
            found[operator.canonical().kernel()] = None
    return list(found)


def _conv(kernels: tuple[int, ...]) -> Callable[[random.Random, DeviceConfig], Operator]:
    def draw(generator: random.Random, config: DeviceConfig) -> Operator:
        side, kernel = generator.choice(_SIDES), generator.choice(kernels)
        stride = 2 if side % 2 == 0 and generator.random() < 0.3 else 1
        return Conv2d(
            n=1,
            h=side,
            w=side,
            ci=generator.choice(_CHANNELS),
            co=generator.choice(_CHANNELS),
            kh=kernel,
            kw=kernel,
            strides=(stride, stride),
            pad=(kernel // 2,) * 4,
            bias=generator.random() < 0.8,
        )

    return draw


def _first(generator: random.Random, config: DeviceConfig) -> Operator:
    side, kernel = generator.choice((64, 96, 112, 128, 160)), generator.choice((3, 5, 7))
    stride = generator.choice((1, 2))
    co = generator.choice((16, 24, 32, 48, 64))
    pad = (kernel // 2,) * 4
    ci = generator.choice((1, 3, 4))
    return Conv2d(1, side, side, ci, co, kernel, kernel, (stride, stride), pad)


def _depthwise(generator: random.Random, config: DeviceConfig) -> Operator:
    side, kernel = generator.choice(_SIDES), generator.choice((3, 3, 5))
    stride, c = generator.choice((1, 2)), generator.choice(_CHANNELS)
    pad = (kernel // 2,) * 4
    return DepthwiseConv2d(
        1, side, side, c, kernel, kernel, config.dim, strides=(stride, stride), pad=pad
    )


def _matmul(generator: random.Random, config: DeviceConfig) -> Operator:
    rows = (1, 7, 49, 64, 100, 128, 196, 197, 256, 384, 512, 784)
    m, k, n = generator.choice(rows), generator.choice(_CHANNELS), generator.choice(_CHANNELS)
    return Matmul(1, m, k, n, bias=generator.random() < 0.7)


def _batch(generator: random.Random, config: DeviceConfig) -> Operator:
    sizes = (49, 64, 96, 128, 197)
    batch, m = generator.choice((2, 4, 8, 12)), generator.choice(sizes)
    k, n = generator.choice((32, 64, *sizes)), generator.choice((32, 64, *sizes))
    return Matmul(batch, m, k, n, bias=False)


def _add(generator: random.Random, config: DeviceConfig) -> Operator:
    return Add(generator.choice(_SIDES) ** 2, generator.choice(_CHANNELS), config.dim)


def _pool(generator: random.Random, config: DeviceConfig) -> Operator:
    side, c = generator.choice(_SIDES), generator.choice(_CHANNELS)
    if generator.random() < 0.5:
        return GlobalAvgPool(1, generator.choice((7, 8, 10, 14)), 7, c, config.dim)
    size = generator.choice((2, 3))
    return MaxPool2d(1, side, side, c, size, generator.choice((1, 2)), (size // 2,) * 4)


_KINDS = (
    _conv((1,)),
    _conv((3,)),
    _matmul,
    _depthwise,
    _conv((3, 5)),
    _first,
    _conv((1,)),
    _batch,
    _matmul,
    _add,
    _conv((3,)),
    _pool,
)
