"""How sums are stored: what an operator says of it, and which do not take part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from npu_target import topi
from npu_target.device import kind_of, preset
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.topi import Conv2d, Matmul, OperatorError
from npu_target.topi.output import Output
from npu_target.topi.routed import routes_of

CONFIG = preset("gemmini-16x16")
SUMS = np.array([-(2**31), -1000, 3, 2**31 - 1], np.int32)


def test_sums_are_what_they_are():
    output = Output(scale=0.5, sums=True)
    assert output.evaluate(SUMS, NUMBERS) is SUMS
    assert (output.dtype, output.label) == ("int32", "_sums")
    assert Output(scale=0.5).evaluate(SUMS, NUMBERS).tolist() == [-128, -128, 2, 127]
    assert Output(scale=0.5, relu=True).evaluate(SUMS, NUMBERS).tolist() == [0, 0, 2, 127]


def test_sums_are_not_clipped():
    with pytest.raises(
        OperatorError, match="matmul: sums are stored as they are, not clipped at 0"
    ):
        Matmul(1, 2, 3, 4, relu=True, sums=True)


@pytest.mark.parametrize("scale", [-0.02, (0.5, 0.5, -0.5, 0.5)])
def test_relu_comes_before_the_scale(scale):
    """So it is another one behind a negative scale."""
    with pytest.raises(OperatorError, match=r"matmul: ReLU behind the scale -0.\d+, which is neg"):
        Matmul(1, 2, 3, 4, relu=True, scale=scale)
    assert Matmul(1, 2, 3, 4, scale=scale).output.scale == scale


@pytest.mark.parametrize("scale", [0, 1e-60, (0.0, 0.0, 0.0, 0.0)])
def test_a_scale_of_nothing_is_refused(scale):
    with pytest.raises(OperatorError, match="matmul: scale must not be 0 in float32, got"):
        Matmul(1, 2, 3, 4, scale=scale)
    Matmul(1, 2, 3, 4, scale=(0.0, 0.5, 0.5, 0.5))  # a channel of zeros


@pytest.mark.parametrize("operator", [Matmul(1, 2, 3, 4), Conv2d(1, 5, 5, 3, 4, 3, 3)])
def test_a_log_says_it_only_where_it_is_so(operator):
    """What was written before such operators were there stays what it is."""
    assert "sums" not in operator.attrs()
    sums = replace(operator, sums=True)
    assert sums.attrs() == {**operator.attrs(), "sums": True}
    assert topi.make(sums.op, sums.attrs()) == sums
    assert sums.name == f"{operator.name}_sums"
    assert sums.canonical() != operator.canonical()


def test_routes_of_the_library_requantize():
    for operator in (Matmul(1, 40, 40, 40), Conv2d(1, 9, 9, 16, 16, 3, 3)):
        assert len(routes_of(operator, CONFIG)) == 1
        assert routes_of(replace(operator, sums=True), CONFIG) == []


def test_stored_bytes_are_part_of_what_tiles_cost():
    """Of a product with little to multiply the time is that of its stores: four times the bytes."""
    operator = Matmul(1, 512, 16, 64, bias=False)
    cost = kind_of(CONFIG).cost
    tile = {"blocks": 4, "lines": 1, "steps": 4, "depth": 1, "kernel_h": 1, "kernel_w": 1}
    tile = {name: np.array([size]) for name, size in tile.items()}
    structure = operator.structures[0]
    elements, sums = (
        float(cost.tiles(one, CONFIG).cycles(structure, tile)[0])
        for one in (operator, replace(operator, sums=True))
    )
    assert 2 < sums / elements < 5
