"""The library's programs compute what the operators say, and are the streams it was seen to send.

The recorded streams are not part of the repository: see `device_api/test_loop_traces.py`.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import tvm
from device_api.test_loop_traces import traces
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.vendor_library import (
    NotInLibraryError,
    tile_checks,
    vendor_inputs,
    vendor_output,
    vendor_program,
)
from npu_target.device import preset
from npu_target.device_api import create_module, without_race_checks
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.devices.gemmini.routes.conv import conv_commands
from npu_target.devices.gemmini.routes.conv_tile import ConvCall
from npu_target.program import Arg, Program
from npu_target.topi import Add, Conv2d, DepthwiseConv2d, GlobalAvgPool, Matmul, MaxPool2d
from npu_target.tuning.expected import expected_output, sample_inputs

CONFIG = GemminiConfig()
SMALL = preset("gemmini-8x8")


def check(operator, config, pool=None):
    """The program's output is the operator's (of an add the library's), bit for bit."""
    inputs = sample_inputs(operator, seed=1)
    program = vendor_program(operator, config, pool)
    arrays = vendor_inputs(operator, inputs)
    tensors = [tvm.runtime.tensor(arrays[arg.name]) for arg in program.args[:-1]]
    out = tvm.runtime.tensor(np.full(program.args[-1].shape, 77, "int8"))
    with without_race_checks():
        create_module({program.name: program.to_bytes()})[program.name](*tensors, out)
    expected = vendor_output(operator, inputs)
    if pool is not None:
        expected = expected_output(pool, {"x": expected}, NUMBERS)
    np.testing.assert_array_equal(out.numpy(), expected)


sizes = st.integers(1, 90)


@given(m=sizes, k=sizes, n=sizes, batch=st.integers(1, 2), bias=st.booleans(), relu=st.booleans())
@settings(max_examples=25, deadline=None)
def test_matmul(m, k, n, batch, bias, relu):
    check(Matmul(batch, m, k, n, bias, relu), SMALL)


@st.composite
def convolutions(draw):
    kernel = draw(st.sampled_from((1, 2, 3, 5)))
    return {
        "n": draw(st.integers(1, 2)),
        "h": draw(st.integers(kernel, 24)),
        "w": draw(st.integers(kernel, 24)),
        "kh": kernel,
        "kw": kernel,
        "strides": (draw(st.integers(1, 2)),) * 2,
        "pad": (draw(st.integers(0, kernel - 1)),) * 4,
        "bias": draw(st.booleans()),
        "relu": draw(st.booleans()),
    }


@given(window=convolutions(), ci=st.integers(1, 40), co=st.integers(1, 70))
@settings(max_examples=40, deadline=None)
def test_conv2d(window, ci, co):
    check(Conv2d(ci=ci, co=co, **window), SMALL)


@given(window=convolutions(), c=st.integers(1, 20))
@settings(max_examples=15, deadline=None)
def test_depthwise_conv2d(window, c):
    check(DepthwiseConv2d(c=c, dim=CONFIG.dim, **window), CONFIG)


@pytest.mark.parametrize("side", [11, 32, 41])
def test_conv2d_with_its_max_pool(side):
    conv = Conv2d(1, side, side, 3, 40, 7, 7, (2, 2), (3,) * 4, relu=True)
    out = conv.window.out_h
    check(conv, CONFIG, MaxPool2d(1, out, out, 40, 3, 2, (1,) * 4))


@given(rows=st.integers(1, 300), cols=sizes, relu=st.booleans(), scale=st.sampled_from((1.0, 0.4)))
@settings(max_examples=20, deadline=None)
def test_add(rows, cols, relu, scale):
    check(Add(rows, cols, SMALL.dim, relu, scale), SMALL)


@given(n=st.integers(1, 2), h=st.integers(1, 9), w=st.integers(1, 9), c=sizes)
@settings(max_examples=15, deadline=None)
def test_global_avg_pool(n, h, w, c):
    check(GlobalAvgPool(n, h, w, c, CONFIG.dim), CONFIG)


def test_operands_that_fit_are_kept():
    """Of two tiles of B the second is not loaded again for the next rows of C."""
    program = vendor_program(Matmul(1, 784, 64, 32, False, False), CONFIG)
    words = program.expand({"a": 0x80000000, "b": 0x80100000, "out": 0x80200000})
    assert [rs2 for funct, _, rs2 in words if funct == 10] == [0x80100000, 0, 0, 0]


def test_pointwise_convolution_needs_no_search():
    pointwise = Conv2d(1, 56, 56, 64, 64, 1, 1)
    strided = Conv2d(1, 56, 56, 64, 64, 1, 1, (2, 2))
    assert tile_checks(pointwise, CONFIG) == 0
    assert tile_checks(strided, CONFIG) > 1


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (MaxPool2d(1, 8, 8, 8, 2, 2), "max_pool2d on the host"),
        (Conv2d(1, 8, 8, 4, 4, 3, 3, (2, 2), (0, 0, 1, 1)), "one padding, has 3x3"),
        (Conv2d(1, 8, 8, 4, 4, 3, 1), "one kernel size"),
        (Conv2d(1, 8, 8, 4, 4, 1, 1, (1, 1), (1,) * 4), "padding below the kernel's 1, has 1"),
    ],
)
def test_what_the_library_lacks(operator, reason):
    with pytest.raises(NotInLibraryError, match=reason):
        vendor_program(operator, CONFIG)


def test_a_pool_of_something_else():
    with pytest.raises(NotInLibraryError, match="does not pool the output"):
        vendor_program(Conv2d(1, 8, 8, 4, 4, 3, 3), CONFIG, MaxPool2d(1, 8, 8, 4, 2, 2))


def _recorded(trace, functs):
    return [
        (funct, int(rs1, 16), int(rs2, 16))
        for _, funct, rs1, rs2 in trace["commands"]
        if funct in functs
    ]


def _least(words, funct, place):
    return min((word[place] for word in words if word[0] == funct and word[place]), default=0)


def _calls():
    """The streams that are calls of the library, of products that are not transposed."""
    return [
        param
        for param in traces()
        if param.values[0].get("group") != "loop_ws"
        and not re.search("At1|Bt1", param.values[0].get("name", ""))
    ]


@pytest.mark.parametrize("trace", _calls())
def test_recorded_streams(trace):
    """Every loop command of the recorded calls, at their addresses."""
    n = {key: int(value) for key, value in re.findall(r"([A-Za-z]+)(\d+)", trace["name"])}
    if trace["group"] == "matmul":
        words = _recorded(trace, range(8, 14))
        operator = Matmul(1, n["I"], n["K"], n["J"], bool(n["bias"]), False)
        program = vendor_program(operator, CONFIG)
        addresses = {"a": words[1][1], "b": words[1][2], "out": _least(words, 11, 2)}
        if operator.bias:
            addresses["bias"] = words[2][1]
        else:
            # The stride of the bias that is not there means nothing.
            words = [(f, 0 if f == 13 else rs1, rs2) for f, rs1, rs2 in words]
    else:
        words = _recorded(trace, range(15, 22))
        call = ConvCall(
            1, (n["in"],) * 2, n["ic"], n["oc"], n["k"], n["s"], n["p"], 2, 3, 1.0, False
        )
        args = ("x", "w", "bias", "out")
        program = Program(
            "conv",
            CONFIG,
            tuple(Arg(a, "input" if a != "out" else "output", "int8", (1,)) for a in args),
            tuple(conv_commands(call, CONFIG)),
        )
        addresses = {
            "x": _least(words, 21, 2),
            "w": words[4][1],
            "bias": words[5][1],
            "out": _least(words, 20, 2),
        }
    ours = [word for word in program.expand(addresses) if word[0] >= 8 and word[0] != 14]
    assert ours == words
