"""Cutting extents into steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.topi.blocking import LEAST_STEP_ROWS, Steps, balanced_steps, ceil_div


def cycles(steps: Steps, dim: int) -> int:
    """The last step overlaps with the preload of the next weights, which takes `dim`."""
    return (steps.number - 1) * max(steps.rows, LEAST_STEP_ROWS) + dim


@given(st.integers(1, 2000), st.sampled_from([8, 16, 32]))
def test_steps_cover_the_extent_in_no_more_time_than_the_fewest(extent, dim):
    steps = balanced_steps(extent, dim)
    assert 1 <= steps.rows <= dim
    assert extent <= steps.padded < extent + steps.number
    fewest = ceil_div(extent, dim)
    assert cycles(steps, dim) <= cycles(Steps(fewest, ceil_div(extent, fewest)), dim)


@pytest.mark.parametrize(
    ("extent", "steps"),
    [
        (1, Steps(1, 1)),
        (37, Steps(3, 13)),
        (49, Steps(4, 13)),
        (56, Steps(4, 14)),
        (112, Steps(7, 16)),
        (196, Steps(14, 14)),
        (3136, Steps(196, 16)),
    ],
)
def test_known_steps(extent, steps):
    assert balanced_steps(extent, 16) == steps
