"""Devices whose step takes blocks of weights transposed, whatever else they are like: with or
without a memory of its own for weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vector_unit import device as vector_device
from vector_unit.device import VectorConfig
from vector_unit.installed import vector_unit

from npu_target.conformance.runs import default_program, expected, inputs_of, launched
from npu_target.intrin import gemm_intrinsic
from npu_target.topi import Add, Conv2d, DepthwiseConv2d, GlobalAvgPool, Matmul, Operator
from npu_target.topi.fitting import fitted

__all__ = ["vector_unit"]

pytestmark = pytest.mark.usefixtures("vector_unit")

configs = st.builds(
    VectorConfig,
    input_rows=st.just(1024),
    has_one_memory=st.booleans(),
    takes_transposed=st.booleans(),
)
D = VectorConfig().dim
sizes, channels = st.integers(3, 12), st.integers(1, 20)
kernels = st.sampled_from([1, 3])
SCALE = {"scale": 2.0**-6}
operators = st.one_of(
    st.builds(
        lambda h, w, ci, co, k: Conv2d(1, h, w, ci, co, k, k, (1, 1), (k // 2,) * 4, **SCALE),
        *(sizes, sizes, channels, channels, kernels),
    ),
    st.builds(
        lambda h, w, c: DepthwiseConv2d(1, h, w, c, 3, 3, D, **SCALE), sizes, sizes, channels
    ),
    st.builds(lambda m, k, n: Matmul(1, m, k, n, **SCALE), *[st.integers(1, 30)] * 3),
    st.builds(lambda rows, cols: Add(rows, cols, D), st.integers(1, 30), st.integers(1, 40)),
    st.builds(lambda h, w, c: GlobalAvgPool(1, h, w, c, D), sizes, sizes, channels),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(configs, operators)
def test_defaults_equal_numpy(config: VectorConfig, operator: Operator) -> None:
    operator = fitted(operator, config)
    program, mod = default_program(operator, config)
    result = launched(program, inputs_of(operator, config, mod))
    np.testing.assert_array_equal(result, expected(operator, config).reshape(result.shape))


def test_a_step_has_its_operands_in_the_same_memories_on_all_devices(vector_unit, monkeypatch):
    gemm_intrinsic(VectorConfig(), 3)
    monkeypatch.setattr(vector_device, "MULTIPLY_OF_ONE", vector_device.MULTIPLY)
    with pytest.raises(ValueError, match="give the step of such a device another call"):
        gemm_intrinsic(VectorConfig(has_one_memory=True), 3)
