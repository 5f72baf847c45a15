"""Which fields a fit changes, where it is known which it should."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from calibrate.fake_hardware import with_values
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from npu_target.calibrate.fit import Fitter
from npu_target.calibrate.problem import Problem
from npu_target.calibrate.told_apart import changes_of, without_effect
from npu_target.device import DeviceConfig, preset

DEFAULT = preset("gemmini-16x16")
FIELDS = (
    "l2_hit_latency_cycles",
    "memory_latency_cycles",
    "acc_scale_latency_cycles",
    "host_icache_miss_cycles",
    "dram_activate_clocks",
    "memory_bytes_per_kilocycle",
)
PROGRAMS = 30


class Linear:
    """A device of which a program takes some cycles for each unit of each field, and others
    besides."""

    def __init__(self, seed: int, fields: Sequence[str] = FIELDS) -> None:
        random = np.random.default_rng(seed)
        self.fields = fields
        # Of each field not all programs know; its share is about as large in each.
        weights = random.uniform(0.2, 2, (PROGRAMS, len(fields)))
        weights *= random.uniform(size=weights.shape) < 0.5
        self.weights = weights / [getattr(DEFAULT, field) for field in fields]
        self.others = random.uniform(1, 4, PROGRAMS)

    def __call__(self, config: DeviceConfig) -> np.ndarray:
        values = np.array([getattr(config, field) for field in self.fields], float)
        return 1000 * (self.others + self.weights @ values)


@st.composite
def hidden_values(draw: st.DrawFn) -> dict[str, int]:
    fields = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3, unique=True))
    found = {}
    for field in fields:
        now = getattr(DEFAULT, field)
        value = round(now * draw(st.floats(0.3, 4)))
        assume(abs(value - now) >= 0.1 * now)
        found[field] = value
    return found


@settings(max_examples=8)
@given(st.integers(0, 2**32), hidden_values())
def test_it_finds_hidden_values(seed: int, values: dict[str, int]) -> None:
    device = Linear(seed)
    problem = Problem(device, device(with_values(DEFAULT, values)))
    fitter = Fitter(problem, DEFAULT, FIELDS)
    fitted = fitter.fit()
    assert set(fitted.values) == set(values)
    for change in changes_of(fitter, fitted):
        value = values[change.field]
        assert abs(change.fitted - value) <= 0.01 * value
        assert change.least is not None and change.most is not None
        assert change.least <= change.fitted <= change.most
        assert not change.instead
    assert np.max(np.abs(problem.errors(DEFAULT.replace(**fitted.values)))) < 0.01


@pytest.mark.long
def test_noise_changes_nothing() -> None:
    """What has no reason is not explained. The measurements are the same ones always: however
    unlikely luck is, of random ones it would find a field in the end."""
    for seed in range(200):
        device, random = Linear(seed), np.random.default_rng(1000 + seed)
        noise = random.uniform(0.001, 0.02)
        measured = device(DEFAULT) * np.exp(random.normal(0, noise, PROGRAMS))
        assert not Fitter(Problem(device, measured, noise), DEFAULT, FIELDS).fit().values


@settings(max_examples=5)
@given(st.integers(0, 2**32), hidden_values(), st.integers(0, PROGRAMS - 1))
def test_a_program_that_nothing_explains_decides_nothing(
    seed: int, values: dict[str, int], strange: int
) -> None:
    device = Linear(seed)
    measured = device(with_values(DEFAULT, values))
    measured[strange] *= 3
    fitted = Fitter(Problem(device, measured), DEFAULT, FIELDS).fit()
    for field, value in values.items():
        assert abs(fitted.values[field] - value) <= 0.05 * value


@settings(max_examples=5)
@given(st.integers(0, 2**32), st.floats(1.5, 4))
def test_fields_that_always_act_together_are_not_told_apart(seed: int, factor: float) -> None:
    twin = "dram_precharge_clocks"
    assert getattr(DEFAULT, twin) == getattr(DEFAULT, FIELDS[4])
    device = Linear(seed)

    def cycles(config: DeviceConfig) -> np.ndarray:
        both = getattr(config, twin) + getattr(config, FIELDS[4])
        return device(config.replace(dram_activate_clocks=both))

    values = {twin: round(factor * getattr(DEFAULT, twin))}
    problem = Problem(cycles, cycles(with_values(DEFAULT, values)))
    fitter = Fitter(problem, DEFAULT, (*FIELDS, twin))
    fitted = fitter.fit()
    (change,) = changes_of(fitter, fitted)
    found = {change.field, *change.instead}
    assert found == {twin, "dram_activate_clocks"}


def test_fields_that_nothing_depends_on() -> None:
    device = Linear(1)
    problem = Problem(device, device(DEFAULT))
    fitter = Fitter(problem, DEFAULT, (*FIELDS, "dram_wake_clocks"))
    assert without_effect(fitter, fitter.fit()) == ["dram_wake_clocks"]


def test_a_config_that_the_simulated_device_refuses_is_not_chosen() -> None:
    device = Linear(2)

    def cycles(config: DeviceConfig) -> np.ndarray:
        if config.l2_hit_latency_cycles > 20:
            raise RuntimeError("NpuDeviceError [race] ...")
        return device(config)

    problem = Problem(cycles, device(with_values(DEFAULT, {"l2_hit_latency_cycles": 40})))
    assert Fitter(problem, DEFAULT, FIELDS).fit().values["l2_hit_latency_cycles"] <= 20
