"""Step 4: the forms of the device's rule of requantization mean the same, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx

from npu_target.conformance.rule_forms import (
    CHANNELS,
    by_relax,
    by_tensorir,
    matched,
    network,
    reading,
    scales_of,
    sums,
)
from npu_target.device import DeviceKind
from npu_target.device.requantize import RequantizeRule, Rescaling

_SEED = 7


@pytest.fixture(scope="module")
def rule(kind: DeviceKind) -> RequantizeRule:
    """How the device makes elements of sums."""
    return kind.numbers.rule


def test_scales_that_it_has_not_are_refused(rule: RequantizeRule) -> None:
    assert rule.refusal(float("inf")), "no device has an infinite scale"
    with pytest.raises(ValueError):
        rule.expression(tirx.Var("x", "int32"), float("inf"))
    if rule.least_scale > 0:
        assert rule.refusal(rule.least_scale) is None
        assert rule.refusal(rule.least_scale / 2) is not None


@pytest.mark.parametrize("relu", [False, True])
def test_its_expression_computes_what_numpy_does(rule: RequantizeRule, relu: bool) -> None:
    """In TensorIR: what is compared with the device, operator by operator."""
    values = sums(_SEED)
    for scale in scales_of(rule, _SEED):
        wanted = rule.evaluate(values, scale, relu)
        assert wanted.dtype == np.int8
        found = by_tensorir(rule, scale, relu, values)
        np.testing.assert_array_equal(found, wanted, f"expression and evaluate, scale {scale}")


@pytest.mark.parametrize("relu", [False, True])
def test_its_expression_is_recognised(rule: RequantizeRule, relu: bool) -> None:
    """By `match`, as it is and as TVM simplified it: else stores are none of the device's."""
    values = sums(_SEED)
    for scale in scales_of(rule, _SEED):
        for found in matched(rule, scale, relu):
            assert found is not None, f"match does not know expression, scale {scale}"
            assert str(found.value).startswith("x["), "match has to give the int32 value"
            assert found.relu == relu and isinstance(found.scale, float)
            same = rule.evaluate(values, found.scale), rule.evaluate(values, scale)
            np.testing.assert_array_equal(*same, f"the scale of match for {scale}")


def test_its_operations_compute_what_numpy_does_and_are_recognised(rule: RequantizeRule) -> None:
    """In Relax: what the host runs (`emit`), and the partitioner finds (`pattern`, `read`)."""
    values = sums(_SEED).reshape(-1, CHANNELS)
    for scale in scales_of(rule, _SEED):
        mod, wanted = network(rule, scale), rule.evaluate(values, scale)
        np.testing.assert_array_equal(
            by_relax(mod, values), wanted, f"emit and evaluate, scale {scale}"
        )
        read = reading(rule, mod)
        assert isinstance(read, Rescaling), f"pattern and read do not know emit: {read}"
        assert not read.relu and isinstance(read.scale, float)
        np.testing.assert_array_equal(
            rule.evaluate(values, read.scale), wanted, f"the scale of read for {scale}"
        )


def test_a_scale_for_each_channel_is_for_all_forms_or_none(rule: RequantizeRule) -> None:
    values = sums(_SEED).reshape(-1, CHANNELS)
    scales = np.resize(scales_of(rule, _SEED), CHANNELS).astype(np.float32)
    try:
        wanted = rule.evaluate(values, scales)
    except ValueError:
        with pytest.raises(ValueError):
            network(rule, scales)
        return
    mod = network(rule, scales)
    np.testing.assert_array_equal(by_relax(mod, values), wanted, f"emit and evaluate, {scales}")
    assert reading(rule, mod) == Rescaling(tuple(scales.tolist()), False)
