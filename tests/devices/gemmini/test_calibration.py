"""The programs that a Gemmini is calibrated with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_target.calibrate.experiments import arrays_of, expected_outputs
from npu_target.device import kind_of, preset
from npu_target.device_api import program_cycles
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.calibration import CALIBRATION
from npu_target.program import Program

DEFAULT = preset("gemmini-16x16")


def programs(config: GemminiConfig) -> list[Program]:
    return [program for group in CALIBRATION.programs(config).values() for program in group]


@st.composite
def configs(draw: st.DrawFn) -> GemminiConfig:
    dim = draw(st.sampled_from([2, 4, 8, 16, 32, 64]))
    return DEFAULT.replace(
        name="drawn",
        dim=dim,
        # The set needs so many rows: what a real device has, and less.
        spad_banks=draw(st.sampled_from([1, 2, 4])),
        spad_bank_rows=dim * draw(st.sampled_from([128, 256])),
        acc_banks=draw(st.sampled_from([1, 2])),
        acc_bank_rows=dim * draw(st.sampled_from([32, 64])),
        dma_request_bytes=draw(st.sampled_from([16, 64, 128])),
        has_mvin_scale=draw(st.booleans()),
        has_pooling=draw(st.booleans()),
        dram_banks=draw(st.sampled_from([0, 4, 8])),
        l2_bytes=draw(st.sampled_from([65_536, 524_288])),
        host_icache_bytes=draw(st.sampled_from([4096, 16_384])),
    )


@settings(max_examples=10)
@given(configs())
def test_they_run_on_devices_of_any_size(config: GemminiConfig) -> None:
    """Races and undefined rows are errors of the simulated device. A name is a program's only."""
    made = programs(config)
    assert len({program.name for program in made}) == len(made) > 40
    for program in made:
        expected_outputs(program)


def test_what_they_store_depends_on_what_they_read() -> None:
    """So that wrong bytes show: every output differs from what it held before."""
    for program in programs(DEFAULT):
        after = expected_outputs(program)
        for arg, before in zip(program.args, arrays_of(program), strict=True):
            assert arg.role == "input" or after != before.tobytes()


@pytest.mark.parametrize("field", (*CALIBRATION.fields, *CALIBRATION.sizes))
def test_every_field_decides_something(field: str) -> None:
    """By 1 % at least, for a value eight times as large, or half, or, of what the simulator cannot
    have so large, twice."""
    config = DEFAULT
    value = getattr(config, field)
    files = [program.to_bytes() for program in programs(config)]
    now = np.array([program_cycles(file) for file in files], float)
    largest = 0.0
    for other in (8 * value + 8, 2 * value, value // 2):
        try:
            changed = config.replace(**{field: other})
        except ValueError:
            continue
        cycles = np.array([program_cycles(file, 0, changed) for file in files], float)
        largest = max(largest, float(np.max(np.abs(cycles / now - 1))))
    assert largest > 0.01


def test_few_programs_are_large() -> None:
    """Simulations of hardware load their data slowly, and run them slowly."""
    made = programs(DEFAULT)
    assert sum(arg.nbytes for program in made for arg in program.args) < 6 * 2**20
    assert sum(program_cycles(program.to_bytes()) or 0 for program in made) < 400_000


def test_the_manifest_names_it() -> None:
    assert kind_of(DEFAULT).calibration is CALIBRATION
    assert set(CALIBRATION.fields).isdisjoint(kind_of(DEFAULT).shape_fields)
    assert set(CALIBRATION.fields) | set(CALIBRATION.sizes) <= set(DEFAULT.numbers())
