"""Hypothesis strategies for operators of every size and for devices."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st

from npu_target import topi
from npu_target.devices.gemmini import PRESETS, GemminiConfig

# Multiply-accumulates of one example: the simulator and NumPy take some milliseconds for these.
MAX_MACS = 20_000_000

devices = st.sampled_from(PRESETS)
scales = st.one_of(
    st.sampled_from([1.0, 0.5, 2.0**-7, 2.0**-20]),
    st.floats(2.0**-16, 2.0, width=32),
)
# How sums are stored.
outputs = st.one_of(
    st.just({"sums": True}),
    st.fixed_dictionaries({"relu": st.booleans(), "scale": scales}),
)
pads = st.tuples(*[st.integers(0, 3)] * 4)
pad_values = st.one_of(st.just(0), st.sampled_from([-128, 1]), st.integers(-128, 127))
channels = st.one_of(st.sampled_from([1, 3, 8, 16, 20, 32, 64, 70]), st.integers(1, 70))


def _windows(draw, max_h: int = 24, max_w: int = 40):
    """(h, w, kh, kw, strides, pad) with at least one output pixel."""
    kh, kw = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    h, w = draw(st.integers(1, max_h)), draw(st.integers(1, max_w))
    strides = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    pad = draw(st.one_of(st.just((0, 0, 0, 0)), pads))
    assume(h + pad[0] + pad[2] >= kh and w + pad[1] + pad[3] >= kw)
    return h, w, kh, kw, strides, pad


@st.composite
def conv2ds(draw) -> topi.Conv2d:
    h, w, kh, kw, strides, pad = _windows(draw)
    operator = topi.Conv2d(
        n=draw(st.integers(1, 3)),
        h=h,
        w=w,
        ci=draw(channels),
        co=draw(channels),
        kh=kh,
        kw=kw,
        strides=strides,
        pad=pad,
        pad_value=draw(pad_values),
        bias=draw(st.booleans()),
        **draw(outputs),
    )
    assume(operator.macs <= MAX_MACS)
    return operator


@st.composite
def depthwise_conv2ds(draw, config: GemminiConfig) -> topi.DepthwiseConv2d:
    h, w, kh, kw, strides, pad = _windows(draw)
    return topi.DepthwiseConv2d(
        n=draw(st.integers(1, 2)),
        h=h,
        w=w,
        c=draw(channels),
        kh=kh,
        kw=kw,
        dim=config.dim,
        strides=strides,
        pad=pad,
        pad_value=draw(pad_values),
        bias=draw(st.booleans()),
        **draw(outputs),
    )


@st.composite
def matmuls(draw) -> topi.Matmul:
    return topi.Matmul(
        batch=draw(st.integers(1, 4)),
        m=draw(st.integers(1, 100)),
        k=draw(st.integers(1, 200)),
        n=draw(st.integers(1, 200)),
        bias=draw(st.booleans()),
        **draw(outputs),
    )


@st.composite
def adds(draw, config: GemminiConfig) -> topi.Add:
    return topi.Add(
        rows=draw(st.integers(1, 300)),
        cols=draw(st.one_of(channels, st.integers(1, 300))),
        dim=config.dim,
        relu=draw(st.booleans()),
        scale=draw(scales),
        bias=draw(st.booleans()),
    )


@st.composite
def max_pool2ds(draw) -> topi.MaxPool2d:
    size = draw(st.integers(1, 3))
    h, w, pad = draw(st.integers(1, 40)), draw(st.integers(1, 40)), draw(pads)
    assume(h + pad[0] + pad[2] >= size and w + pad[1] + pad[3] >= size)
    return topi.MaxPool2d(
        n=draw(st.integers(1, 3)),
        h=h,
        w=w,
        c=draw(channels),
        size=size,
        stride=draw(st.integers(1, 3)),
        pad=pad,
        pad_value=draw(pad_values),
    )


@st.composite
def global_avg_pools(draw, config: GemminiConfig) -> topi.GlobalAvgPool:
    return topi.GlobalAvgPool(
        n=draw(st.integers(1, 3)),
        h=draw(st.integers(1, 15)),
        w=draw(st.integers(1, 15)),
        c=draw(st.one_of(channels, st.integers(1, 600))),
        dim=config.dim,
        **draw(st.one_of(st.just({"sums": True}), st.fixed_dictionaries({"scale": scales}))),
    )


@st.composite
def by_channel(
    draw, some: st.SearchStrategy[topi.Operator], config: GemminiConfig
) -> topi.Operator:
    """The operator, some of them with a scale for each block of channels."""
    operator = draw(some)
    if operator.sums or draw(st.booleans()):
        return operator
    n = operator.args[-1].shape[-1]
    blocks = draw(st.lists(scales, min_size=-(-n // config.dim), max_size=-(-n // config.dim)))
    return replace(operator, scale=tuple(blocks[channel // config.dim] for channel in range(n)))


def operators(config: GemminiConfig) -> dict[str, st.SearchStrategy[topi.Operator]]:
    """A strategy for each kind of operator that the device has, by `Operator.op`."""
    return {
        "conv2d": by_channel(conv2ds(), config),
        "depthwise_conv2d": by_channel(depthwise_conv2ds(config), config),
        "matmul": by_channel(matmuls(), config),
        "add": adds(config),
        "max_pool2d": max_pool2ds(),
        "global_avg_pool": global_avg_pools(config),
    }
