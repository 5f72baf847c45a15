"""Operators as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.topi import (
    Add,
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool,
    Matmul,
    MaxPool2d,
    OperatorError,
    operators_of,
)
from npu_target.topi.spelled import parse_operator

CONFIG = preset("gemmini-16x16")


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("conv2d(h=28, w=28, ci=128, co=128, k=3, pad=1)",
         Conv2d(1, 28, 28, 128, 128, 3, 3, (1, 1), (1, 1, 1, 1))),
        (" conv2d(n=2,h=28,w=9,ci=1,co=3,kh=3,kw=1,strides=(2,1),pad=(1,0,0,1),bias=False) ",
         Conv2d(2, 28, 9, 1, 3, 3, 1, (2, 1), (1, 0, 0, 1), False)),
        ("conv2d(h=28, w=28, ci=8, co=8, k=1, stride=2, relu=True)",
         Conv2d(1, 28, 28, 8, 8, 1, 1, (2, 2), relu=True)),
        ("conv2d(h=2, w=2, ci=8, co=2, k=1, scale=(0.5, 0.25))",
         Conv2d(1, 2, 2, 8, 2, 1, 1, scale=(0.5, 0.25))),
        ("matmul(m=128, k=768, n=3072)", Matmul(1, 128, 768, 3072)),
        ("max_pool2d(h=9, w=9, c=3, size=3, stride=2)", MaxPool2d(1, 9, 9, 3, 3, 2)),
        ("add(rows=49, cols=512)", Add(49, 512, 16)),
        ("depthwise_conv2d(h=9, w=9, c=32, k=3, pad=1)",
         DepthwiseConv2d(1, 9, 9, 32, 3, 3, 16, pad=(1, 1, 1, 1))),
        ("global_avg_pool(h=7, w=7, c=64)", GlobalAvgPool(1, 7, 7, 64, 16)),
    ],
)  # fmt: skip
def test_short_forms(text, operator):
    assert parse_operator(text, CONFIG) == operator


def test_every_operator_can_be_spelled_out():
    """As its own attributes say it."""
    for name in ("gemmini-16x16", "vta-1x16x16"):
        config = preset(name)
        for cls in operators_of(config):
            for operator in cls.examples(config):
                text = ", ".join(f"{key}={value!r}" for key, value in operator.attrs().items())
                assert parse_operator(f"{operator.op}({text})", config) == operator


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'' is no operator; write one as conv2d("),
        ("conv2d", "is no operator"),
        ("conv2d(1, 2)", "is no operator"),
        ("conv2d(h=28, h=29)", "is no operator"),
        ("conv2d(**{'h': 1})", "is no operator"),
        ("os.system('x')", "is no operator"),
        ("conv2d(h=__import__('os'))", "is no operator"),
        ("conv2d(h=28); x", "is no operator"),
        ("(" * 5000, "is no operator"),
        ("matmul(m=4, k=4)", "matmul: n not given"),
        ("conv3d(h=1)", "unknown operator 'conv3d'; known: add, conv2d"),
        (
            "conv2d(h=28, w=28)",
            "ci, co, kh, kw not given; needs n, h, w, ci, co, kh, kw, takes",
        ),
        ("conv2d(h=28, w=28, ci=1, co=1, k=3, kh=3)", "kh is given twice, by kh as well"),
        ("conv2d(h=28, w=28, ci=1, co=1, k=3, kernel=3)", "has no attribute kernel"),
        ("conv2d(h='a', w=28, ci=1, co=1, k=3)", "h must be int, got 'a'"),
        ("conv2d(h=28, w=28, ci=1, co=1, k=3, pad=(1, 1))", "pad must be tuple"),
        ("conv2d(h=28, w=28, ci=0, co=1, k=3)", "ci must be at least 1, got 0"),
        ("matmul(m=1, k=1, n=1, stride=2)", "has no attribute stride"),
        ("matmul(m=9999999999, k=64, n=16)", "matmul: m must be at most 2147483647, got 99999"),
        (
            "conv2d(h=2, w=9, ci=1, co=1, k=1, pad=(0, 0, 2147483647, 0), strides=(2147483647, 1))",
            "conv2d: padded_h must be at most 2147483647, got 2147483649",
        ),
        (
            "matmul(m=33554432, k=64, n=16)",
            "matmul: a would be 1x33554432x64, of at most 2147483647 elements",
        ),
    ],
)
def test_what_says_no_operator(text, says):
    with pytest.raises(OperatorError) as caught:
        parse_operator(text, CONFIG)
    assert says in str(caught.value) and len(str(caught.value)) < 300


@given(st.text(max_size=40))
def test_any_text_is_an_operator_or_refused(text):
    with pytest.raises(OperatorError):
        parse_operator(text, CONFIG)
