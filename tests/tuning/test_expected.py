"""expected.py against TensorIR's own meaning of each definition, compiled for the host."""

from __future__ import annotations

import numpy as np
import pytest
import tvm

from npu_target import topi
from npu_target.device import preset
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.tuning.expected import expected_output, sample_inputs

CONFIG = preset("gemmini-8x8")

OPERATORS = [
    topi.Conv2d(1, 7, 9, 3, 11, 3, 3, (2, 1), (1, 0, 1, 2), True, True, 0.01),
    topi.Conv2d(2, 5, 5, 17, 9, 1, 1, bias=False),
    topi.DepthwiseConv2d(1, 6, 5, 11, 3, 3, 8, (1, 2), (1, 1, 1, 1), True, False, 0.02),
    topi.Matmul(2, 5, 19, 13, True, False, 0.003),
    topi.Matmul(1, 1, 40, 9, False, True, 0.02),
    topi.Add(5, 19, 8, True, 0.005),
    topi.Add(5, 16, 8, False, 0.01),
    topi.MaxPool2d(1, 9, 8, 10, 3, 2, (1, 1, 1, 0)),
    topi.GlobalAvgPool(2, 7, 5, 9, 8, 0.03),
]


def on_host(operator: topi.Operator, inputs: dict[str, np.ndarray]) -> np.ndarray:
    compiled = tvm.compile(operator.prim_func(CONFIG), "llvm")
    output = operator.args[-1]
    result = tvm.runtime.tensor(np.zeros(output.shape, output.dtype))
    arguments = [tvm.runtime.tensor(inputs[arg.name]) for arg in operator.args[:-1]]
    compiled(*arguments, result)
    return result.numpy()


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_equals_the_definition_compiled_for_the_host(operator):
    inputs = sample_inputs(operator, seed=3)
    found = expected_output(operator, inputs, NUMBERS)
    np.testing.assert_array_equal(found, on_host(operator, inputs))


def test_int32_accumulators_wrap():
    operator = topi.Matmul(1, 1, 1, 1, True, False, 2.0**-24)
    inputs = {
        "a": np.full((1, 1, 1), 127, np.int8),
        "b": np.full((1, 1, 1), 127, np.int8),
        "bias": np.array([2**31 - 1], np.int32),
    }
    assert expected_output(operator, inputs, NUMBERS)[0, 0, 0] == -128


@pytest.mark.parametrize(
    "operator",
    [
        topi.Conv2d(1, 7, 7, 512, 16, 3, 3, (1, 1), (1, 1, 1, 1)),
        topi.Conv2d(1, 14, 14, 3, 16, 7, 7),
        topi.Matmul(1, 4, 512, 1000),
        topi.Add(40, 40, 16).canonical(),
        topi.GlobalAvgPool(1, 7, 7, 512, 16),
    ],
    ids=lambda operator: operator.name,
)
def test_sampled_inputs_give_results_worth_comparing(operator):
    output = expected_output(operator, sample_inputs(operator, seed=0), NUMBERS)
    saturated = np.isin(output, (-128, 127)).mean()
    assert saturated < 0.1
    # Bits of information in an element: rounding everything to a few values would hide errors.
    counts = np.unique(output, return_counts=True)[1] / output.size
    assert -(counts * np.log2(counts)).sum() > 3


def test_sampled_inputs_depend_on_the_seed_alone():
    operator = OPERATORS[0]
    first, again, other = (sample_inputs(operator, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["x"], other["x"])
