"""The suite's tests of a rule of requantization: each form that says something else is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from npu_target.conformance import test_step4_numbers as suite
from npu_target.conformance.rule_forms import scales_of, sums
from npu_target.device.requantize import RequantizeRule
from npu_target.device.scale_rule import ScaleRule
from npu_target.device.shift_rule import ShiftRule

DOWN = ShiftRule(rounds=False)


@dataclass(frozen=True)
class Broken(ShiftRule):
    """Rounds, but for one of its forms."""

    form: str = ""

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "form"):
            return getattr(DOWN, name)
        return super().__getattribute__(name)


@dataclass(frozen=True)
class HalfTheScale(ShiftRule):
    """Takes its own operations apart wrongly."""

    def match(self, expr: Any) -> Any:
        found = super().match(expr)
        return found and found._replace(scale=found.scale / 2)

    def read(self, parts: Any) -> Any:
        found = super().read(parts)
        return found if isinstance(found, str) else found._replace(scale=found.scale / 2)


@dataclass(frozen=True)
class OneScaleInNumPy(ScaleRule):
    """Takes scales for each channel in Relax only."""

    def evaluate(self, sums: np.ndarray, scale: Any, relu: bool = False) -> np.ndarray:
        if np.ndim(scale):
            raise ValueError("one scale for all channels")
        return super().evaluate(sums, scale, relu)


@dataclass(frozen=True)
class AnyScale(ShiftRule):
    """Refuses nothing."""

    def refusal(self, scale: float) -> str | None:
        return None


def expression(rule: RequantizeRule) -> None:
    suite.test_its_expression_computes_what_numpy_does(rule, False)


def match(rule: RequantizeRule) -> None:
    suite.test_its_expression_is_recognised(rule, True)


operations = suite.test_its_operations_compute_what_numpy_does_and_are_recognised
channels = suite.test_a_scale_for_each_channel_is_for_all_forms_or_none
scales = suite.test_scales_that_it_has_not_are_refused


@pytest.mark.parametrize("rule", [ScaleRule(), ShiftRule(most_bits=2), DOWN], ids=str)
@pytest.mark.parametrize("test", [expression, match, operations, channels, scales])
def test_rules_that_are_right(test: Callable[[RequantizeRule], None], rule: RequantizeRule) -> None:
    test(rule)


@pytest.mark.parametrize(
    ("test", "rule", "message"),
    [
        (expression, Broken(form="evaluate"), "expression and evaluate, scale"),
        (expression, Broken(form="expression"), "expression and evaluate, scale"),
        (match, Broken(form="expression"), "match does not know expression"),
        (match, HalfTheScale(), "the scale of match for"),
        (operations, Broken(form="emit"), "emit and evaluate, scale"),
        (operations, Broken(form="read"), "the scale of read for|pattern and read do not know"),
        (operations, HalfTheScale(), "the scale of read for"),
        (channels, OneScaleInNumPy(), "DID NOT RAISE"),
        (scales, AnyScale(), "no device has an infinite scale"),
    ],
)
def test_forms_that_are_not_the_same(
    test: Callable[[RequantizeRule], None], rule: RequantizeRule, message: str
) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception), match=message):
        test(rule)


def test_scales_are_those_that_a_rule_has() -> None:
    found = scales_of(ShiftRule(most_bits=3), 1)
    assert len(found) == 6 and all(2**-3 <= scale <= 4 for scale in found)
    assert len(scales_of(ScaleRule(), 1)) == 12
    with pytest.raises(ValueError, match="'none' has no power of two from"):
        scales_of(NoScale(), 1)


class NoScale(ShiftRule):
    name = "none"

    def refusal(self, scale: float) -> str | None:
        return "none"


def test_sums_have_all_sizes_and_halves() -> None:
    values = sums(3)
    assert values.min() < -(2**28) and values.max() > 2**28
    assert (abs(values) < 128).sum() > 50
    rounded, cut = ShiftRule().evaluate(values, 0.5), DOWN.evaluate(values, 0.5)
    assert (rounded != cut).any()
