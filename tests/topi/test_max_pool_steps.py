"""Pooling by steps, on a device whose stores pool nothing: every size and schedule computes what
NumPy does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule
from operator_strategies import max_pool2ds
from tvm.s_tir import Schedule
from vector_unit import device as vector_device
from vector_unit.commands import COMMANDS, Maximum, Multiply
from vector_unit.device import CONFIG, KIND
from vector_unit.installed import vector_unit

from npu_target.codegen_tir import DoesNotFit, build_program
from npu_target.device import Features, preset
from npu_target.device.features import MultiplyStep, PooledStores
from npu_target.schedule_rules import SPACES, default_schedule, designs
from npu_target.topi import MaxPool2d, OperatorError, make

__all__ = ["vector_unit"]

pytestmark = pytest.mark.usefixtures("vector_unit")
# Of a fixture that only makes the kind known.
ONCE = [HealthCheck.function_scoped_fixture]
D = CONFIG.dim


@settings(max_examples=12, suppress_health_check=ONCE)
@given(st.data(), max_pool2ds(), st.integers(3, 5), st.integers(1, 2**31 - 1))
def test_templates_equal_numpy_or_do_not_fit(data, drawn, size, seed):
    operator = replace(drawn, dim=D, pad_value=0)  # by which alone the device pads
    if min(operator.h, operator.w) >= size and data.draw(st.booleans(), "a larger window"):
        operator = replace(operator, size=size)  # than stores of other devices pool
    schedule = Schedule(operator.prim_func(CONFIG), seed=seed)
    data.draw(st.sampled_from(operator.templates(CONFIG)), "template")(schedule)
    try:
        check_schedule(operator, schedule, CONFIG, seed)
    except DoesNotFit as error:
        assert operator.name in str(error)


EXAMPLES = [
    # A single place; windows with gaps between them; negative elements alone.
    MaxPool2d(1, 6, 7, D + 3, 1, 2, dim=D),
    MaxPool2d(2, 10, 10, 2 * D, 2, 3, dim=D),
    # Lines longer than a step takes; images that no tile holds.
    MaxPool2d(1, 3, 290, 2, 2, 1, dim=D),
    MaxPool2d(1, 40, 40, 2 * D - 1, 3, 2, (1, 1, 1, 1), dim=D),
]


@pytest.mark.parametrize("operator", EXAMPLES, ids=lambda operator: operator.name)
def test_defaults_equal_numpy(operator):
    check_schedule(operator, default_schedule(operator, CONFIG), CONFIG)


def test_rows_that_follow_each_other_are_one_step():
    """Maxima of a whole tile are one command for each place of a window."""
    operator = MaxPool2d(1, 8, 8, D, 2, 2, dim=D)
    schedule = Schedule(operator.prim_func(CONFIG))
    tiles = {"n": [1, 1], "cb": [1, 1], "y": [1, 4], "xx": [1, 1]}
    operator.templates(CONFIG)[1](schedule, decisions=tiles)
    program = build_program(schedule.mod["main"], CONFIG, operator.name)
    words = program.expand({"x": 1 << 20, "identity": 1 << 24, "out": 1 << 28})
    stream = [COMMANDS.decode(*word) for word in words]
    assert [c.rows for c in stream if isinstance(c, Maximum)] == [16] * 4
    products = [c for c in stream if isinstance(c, Multiply)]
    assert [(c.rows, c.overwrites) for c in products] == [(4, True)] * 16


def test_the_matrix_is_an_argument_and_an_attribute():
    operator = MaxPool2d(1, 8, 8, 4, 2, 2, dim=D)
    assert make(operator.op, operator.attrs()) == operator
    assert [arg.name for arg in operator.args] == ["x", "identity", "out"]
    np.testing.assert_array_equal(
        operator.sample(np.random.default_rng(0))["identity"], np.eye(D, dtype=np.int8)
    )
    # Where stores pool, logs know of none.
    assert "dim" not in replace(operator, dim=None).attrs()


def with_features(monkeypatch: pytest.MonkeyPatch, features: Features) -> None:
    monkeypatch.setitem(vars(KIND), "features", lambda config: features)


STEP = MultiplyStep(vector_device.MULTIPLY, 8)


def test_features_choose_the_definition(monkeypatch):
    assert {operator.dim for operator in MaxPool2d.examples(CONFIG)} == {D}
    pools = Features(PooledStores(3, 3), step=STEP)
    with_features(monkeypatch, pools)
    assert {operator.dim for operator in MaxPool2d.examples(CONFIG)} == {None}
    gemmini = preset("gemmini-16x16")
    assert {operator.dim for operator in MaxPool2d.examples(gemmini)} == {None}


def test_a_device_without_the_steps_is_refused(monkeypatch):
    operator = MaxPool2d(1, 8, 8, 4, 2, 2, dim=D)
    with_features(monkeypatch, Features(step=STEP))
    with pytest.raises(OperatorError, match="has no step for fill of rows of sums, and its stores"):
        operator.prim_func(CONFIG)


def test_a_matrix_of_another_device_is_refused():
    operator = MaxPool2d(1, 8, 8, 4, 2, 2, dim=2 * D)
    with pytest.raises(OperatorError, match=f"identity of side {2 * D}, device has {D}"):
        operator.prim_func(CONFIG)


@pytest.mark.parametrize("space", SPACES)
def test_every_space_has_both_structures(space):
    operator = EXAMPLES[0]
    start = Schedule(operator.prim_func(CONFIG))
    found = designs(start, operator, CONFIG, space)
    assert len(found) == (4 if space == "both" else 2)
    pipelined = ["software_pipeline_stage" in str(design.schedule.trace) for design in found]
    assert sum(pipelined) == len(found) // 2
