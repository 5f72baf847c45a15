"""Running programs on hardware that answers well, badly, or not at all."""

from __future__ import annotations

import pytest
from calibrate.fake_hardware import FakeAnswer, hardware
from calibrate.few_programs import few

from npu_target.calibrate.errors import CalibrationError
from npu_target.calibrate.measure import check_spread, measure
from npu_target.device import preset

DEFAULT = preset("gemmini-16x16")


def test_each_runs_once_before_any_runs_twice() -> None:
    measurements = few()
    names: list[str] = []
    kept: list[int] = []
    measure(
        measurements,
        hardware(DEFAULT),
        2,
        lambda experiment: names.append(experiment.name),
        lambda: kept.append(measurements.runs),
    )
    count = len(measurements.experiments)
    assert names == [one.name for one in measurements.experiments] * 2
    assert kept == list(range(1, 2 * count + 1))
    assert all(first == second for first, second in measurements.cycles)


def test_what_ran_does_not_run_again() -> None:
    measurements = few()
    left = 5

    def dies(program, arrays):
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return hardware(DEFAULT)(program, arrays)

    with pytest.raises(KeyboardInterrupt):
        measure(measurements, dies, 1)
    assert measurements.runs == 5
    names: list[str] = []
    measure(measurements, hardware(DEFAULT), 1, lambda experiment: names.append(experiment.name))
    assert names == [one.name for one in measurements.experiments[5:]]
    measure(measurements, hardware(DEFAULT), 1, lambda experiment: pytest.fail(experiment.name))


@pytest.mark.parametrize("cycles", [0, -5])
def test_no_cycles_are_refused(cycles: int) -> None:
    def run(program, arrays):
        return FakeAnswer(cycles, b"")

    measurements = few()
    with pytest.raises(CalibrationError, match=f"there and back.*: the command says {cycles} cycl"):
        measure(measurements, run, 1)
    assert measurements.runs == 0


@pytest.mark.parametrize("wrong", ["a byte", "too few", "too many"])
def test_wrong_bytes_are_refused(wrong: str) -> None:
    def run(program, arrays):
        answer = hardware(DEFAULT)(program, arrays)
        outputs = answer.outputs
        if wrong == "a byte":
            outputs = bytes([outputs[0] ^ 1]) + outputs[1:]
        elif wrong == "too few":
            outputs = outputs[:-1]
        else:
            outputs += b"0"
        return FakeAnswer(answer.cycles, outputs)

    measurements = few()
    with pytest.raises(CalibrationError, match=r"there and back.*: 1 of 256 bytes are other"):
        measure(measurements, run, 1)
    assert measurements.runs == 0


def test_hopeless_noise_is_refused() -> None:
    measurements = few()
    measurements.cycles = [[1000, 1005] for _ in measurements.cycles]
    check_spread(measurements)
    measurements.cycles = [[1000, 1300] for _ in measurements.cycles]
    with pytest.raises(CalibrationError, match="differ by 26 % from run to run"):
        check_spread(measurements)
