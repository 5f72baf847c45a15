"""How an addition's elements are cut into lines and steps, and its constant argument."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule
from operator_strategies import devices

from npu_target.device import preset
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Add, OperatorError, add_diagonals


@given(devices, st.integers(1, 400), st.integers(1, 400))
def test_no_line_is_cut_short(config, rows, cols):
    operator = Add(rows, cols, config.dim)
    line = operator.line_elements(config)
    assert rows * cols % line == 0
    assert line <= config.dim or (line % config.dim == 0 and line <= config.mvin_max_cols)
    lines, steps = rows * cols // line, operator.steps(config)
    assert steps.rows <= config.dim and steps.padded - steps.rows < lines <= steps.padded


@pytest.mark.parametrize(
    ("rows", "cols", "line", "step_rows"),
    [
        (3136, 64, 64, 16),
        (49, 512, 64, 14),  # 392 lines: as many steps as of 16, and none is padded
        (784, 24, 64, 14),  # channels that fill no block
        (196, 12, 48, 13),
        (7, 13, 13, 7),  # no blocks come out even
    ],
)
def test_lines_are_as_long_as_a_load(rows, cols, line, step_rows):
    config = preset("gemmini-16x16")
    operator = Add(rows, cols, config.dim)
    assert (operator.line_elements(config), operator.steps(config).rows) == (line, step_rows)


def test_diagonals():
    weights = add_diagonals(3, -128, 4)
    assert weights.dtype == np.int8
    np.testing.assert_array_equal(weights, [np.diag([3] * 4), np.diag([-128] * 4)])


def test_a_multiplier_that_is_no_int8_is_an_error():
    with pytest.raises(OperatorError, match="multiplier of b must be -128 to 127, got 128"):
        add_diagonals(1, 128, 16)


def test_weights_for_another_device_are_an_error():
    config = preset("gemmini-8x8")
    with pytest.raises(ValueError, match="add_2x8: weights laid out for dim 16, device has 8"):
        Add(2, 8, 16).prim_func(config)


@pytest.mark.long
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["gemmini-16x16", "gemmini-8x8"]),
    st.integers(1, 40),
    st.integers(1, 70),
    st.floats(0.001, 0.5),
    st.integers(0, 2**31),
)
def test_a_constant_is_added_on_the_device(device, rows, cols, scale, seed):
    config = preset(device)
    operator = Add(rows, cols, config.dim, scale=scale, bias=True)
    check_schedule(operator, default_schedule(operator, config), config, seed)


def test_a_constant_is_written_down_only_where_there_is_one():
    assert "bias" not in Add(3, 4, 16).attrs()
    assert Add(3, 4, 16, bias=True).attrs()["bias"] is True
    assert Add(3, 4, 16, bias=True).name == "add_3x4_bias"
