"""Hidden Gemminis, found by the whole set of programs."""

from __future__ import annotations

import numpy as np
import pytest
from calibrate.fake_hardware import with_values
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_target.calibrate.experiments import experiments_of
from npu_target.calibrate.measurements import Measurements
from npu_target.calibrate.result import calibrate, predicted
from npu_target.device import preset
from npu_target.devices.gemmini.calibration import CALIBRATION

DEFAULT = preset("gemmini-16x16")


@st.composite
def hidden_values(draw: st.DrawFn) -> dict[str, int]:
    """One to three fields, up to three times as large or small."""
    names = draw(st.lists(st.sampled_from(CALIBRATION.fields), min_size=1, max_size=3, unique=True))
    found = {}
    for name in names:
        now, (least, most) = getattr(DEFAULT, name), DEFAULT.limits.fields[name]
        lowest, highest = max(least, now // 3), min(most, 3 * now + 3)
        found[name] = draw(st.integers(lowest, highest).filter(lambda value, now=now: value != now))
    return found


@pytest.mark.slow
@settings(max_examples=4)
@given(hidden_values(), st.sampled_from([0.0, 0.003]), st.integers(0, 2**32))
def test_hidden_devices_are_found(values: dict[str, int], noise: float, seed: int) -> None:
    """The layers, which nothing was fitted to, are within 2 %. Each hidden field is found, or
    reported as not told apart from another, or is too small for the programs to show."""
    experiments = experiments_of(DEFAULT)
    hidden = with_values(DEFAULT, values)
    predict = predicted([one.program for one in experiments])
    random = np.random.default_rng(seed)
    cycles = predict(hidden) * np.exp(random.normal(0, noise, (3, len(experiments))))
    measured = Measurements("hidden", experiments, np.rint(cycles).astype(int).T.tolist())
    result = calibrate(measured, DEFAULT, CALIBRATION.fields)
    layers = [one for one in result.compared if one.experiment.is_held_out]
    assert max(abs(one.error_after) for one in layers) < 0.02
    # What is left to be seen of a hidden field that was not found is what noise leaves.
    named = {name for change in result.changes for name in (change.field, *change.instead)}
    fitted = [one for one in result.compared if not one.experiment.is_held_out]
    left = np.median([abs(one.error_after) for one in fitted])
    assert values.keys() <= named or left <= 0.001 + noise
