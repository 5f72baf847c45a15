"""What has no room in a device's memories is known before it is scheduled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule
from vector_unit.device import VectorConfig
from vector_unit.installed import vector_unit

from npu_target.codegen_tir import DoesNotFit, build_program
from npu_target.device import preset
from npu_target.schedule_rules import default_schedule
from npu_target.topi import (
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool,
    Matmul,
    MaxPool2d,
    Operator,
    OperatorError,
)

__all__ = ["vector_unit"]

pytestmark = pytest.mark.usefixtures("vector_unit")

powers = st.integers(4, 8).map(lambda power: 1 << power)
vector_units = st.builds(
    VectorConfig, input_rows=powers, weight_rows=powers, sum_rows=st.sampled_from([16, 32, 64])
)
gemminis = st.builds(
    lambda spad, acc: replace(preset("gemmini-16x16"), spad_bank_rows=spad, acc_bank_rows=acc),
    st.sampled_from([16, 32, 64]),
    st.sampled_from([16, 32]),
)


def _operators(dim: int) -> st.SearchStrategy[Operator]:
    """Of kernels and sizes that small memories may have no room for."""
    sizes, channels = st.integers(9, 16), st.sampled_from([8, 16, 40])
    kernels, strides = st.sampled_from([1, 3, 5, 9]), st.sampled_from([(1, 1), (2, 2)])
    return st.one_of(
        st.builds(
            lambda h, w, c, k, s: Conv2d(1, h, w, c, 16, k, k, s, (k // 2,) * 4),
            *(sizes, sizes, channels, kernels, strides),
        ),
        st.builds(
            lambda h, w, c, k, s: DepthwiseConv2d(1, h, w, c, k, k, dim, s),
            *(sizes, sizes, channels, kernels, strides),
        ),
        st.builds(Matmul, st.just(1), st.integers(1, 60), st.integers(1, 90), st.integers(1, 40)),
        st.builds(lambda h, w, c: GlobalAvgPool(1, h, w, c, dim), sizes, sizes, channels),
    )


@settings(max_examples=12)
@given(data=st.data())
def test_what_is_refused_is_what_the_compiler_has_no_room_for(data):
    config = data.draw(st.one_of(vector_units, gemminis))
    operator = data.draw(_operators(config.dim)).canonical()
    schedule = default_schedule(operator, config)
    try:
        operator.check_room(config)
    except OperatorError as error:
        assert "has room in the memories of" in str(error)
        with pytest.raises(DoesNotFit):
            build_program(schedule.mod["main"], config, operator.name)
    else:
        build_program(schedule.mod["main"], config, operator.name)


def test_a_kernel_whose_weights_have_no_room_at_once_is_loaded_in_parts():
    """Of 25 positions, 8 rows each, where there are 128 rows."""
    operator = Conv2d(1, 9, 9, 8, 8, 5, 5, (1, 1), (2, 2, 2, 2), scale=2.0**-6)
    config = VectorConfig(weight_rows=128)
    check_schedule(operator, default_schedule(operator.kernel(), config), config)


def test_a_window_that_no_bank_holds():
    config = replace(preset("gemmini-16x16"), acc_bank_rows=16)
    with pytest.raises(OperatorError, match=r"not even one window .* 25 rows of its image"):
        MaxPool2d(1, 9, 9, 16, 5, 1).check_room(config)
