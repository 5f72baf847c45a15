"""TFLite's AVERAGE_POOL_2D: the host computes what NumPy does, and both the rounded mean."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integer_networks import evaluated

from npu_target.integer import AveragePool


@pytest.mark.parametrize("halves", ["away", "up"])
@pytest.mark.parametrize(
    ("window", "strides", "padding"),
    [
        ((2, 2), (2, 2), (0, 0, 0, 0)),
        ((3, 2), (1, 2), (1, 0, 1, 1)),
        ((9, 8), (1, 1), (0, 0, 0, 0)),
    ],
)
def test_host_computes_what_numpy_does(window, strides, padding, halves):
    image = np.random.default_rng(0).integers(-128, 128, (2, 9, 8, 5)).astype("int8")
    out = evaluated(AveragePool(window, strides, padding, -60, 50, halves), image)
    assert out.min() >= -60
    assert out.max() <= 50


@settings(max_examples=100)
@given(st.lists(st.integers(-128, 127), min_size=1, max_size=6), st.sampled_from(["away", "up"]))
def test_halves(values, halves):
    image = np.array(values, "int8").reshape(1, 1, len(values), 1)
    found = AveragePool((1, len(values)), (1, 1), halves=halves).evaluate(image).item()
    mean = Fraction(sum(values), len(values))
    nearest = {round(mean - Fraction(1, 10**6)), round(mean + Fraction(1, 10**6))}
    if len(nearest) == 2:
        wanted = max(nearest) if halves == "up" else max(nearest, key=abs)
    else:
        (wanted,) = nearest
    assert found == wanted


def test_a_border_does_not_count():
    image = np.full((1, 2, 2, 1), 100, "int8")
    operation = AveragePool((2, 2), (1, 1), (1, 1, 1, 1))
    assert (operation.evaluate(image) == 100).all()


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"window": (0, 1)}, "no window"),
        ({"strides": (0, 1)}, "no window"),
        ({"padding": (2, 0, 0, 0)}, "whole windows"),
        ({"halves": "down"}, "not 'down'"),
    ],
)
def test_wrong_numbers_are_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        AveragePool(**{"window": (2, 2), "strides": (1, 1)} | numbers)
