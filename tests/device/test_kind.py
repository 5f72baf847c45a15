"""The manifest: what is told when it is made, and when its parts are imported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from device_api.adder.device import simulate
from my_npu.commands import COMMANDS
from my_npu.compute import MultiplyRows
from my_npu.copies import MyNpuCopyRules, MyNpuEmission
from my_npu.kind import KIND, MULTIPLY
from my_npu.numbers import NUMBERS

from npu_target.device import (
    Elementwise,
    ElementwiseStep,
    Features,
    KindError,
    MultiplyStep,
    kinds,
)
from npu_target.devices.gemmini import GEMMINI


def test_parts_are_imported_when_needed() -> None:
    kind = replace(KIND)
    assert kind.commands is COMMANDS
    assert kind.emission is MyNpuEmission
    assert kind.numbers is NUMBERS
    kind.check()


def test_a_simulator_is_a_part_that_may_be_given() -> None:
    kind = replace(KIND, simulator_at="device_api.adder.device:simulate")
    assert kind.simulate is simulate
    kind.check()
    with pytest.raises(KindError, match="CONFIG' is a AdderConfig, needs a function"):
        replace(KIND, simulator_at="device_api.adder.device:CONFIG").check()


def test_what_starts_a_device_is_a_header_that_may_be_given() -> None:
    none = replace(KIND, start_header_at=None).start_header()
    assert none.startswith('#error "commands of') and "no start_header_at" in none
    place = "npu_target.devices.gemmini:host/npu_start.h"
    assert "mstatus" in replace(KIND, start_header_at=place).start_header()
    for missing in ("npu_target.devices.gemmini:host/none.h", "no_package:a.h", "npu_target"):
        with pytest.raises(KindError, match=f"start_header_at is '{missing}'"):
            replace(KIND, start_header_at=missing).check()


def test_parts_of_a_device_are_made_once() -> None:
    kind = replace(KIND)
    large, small = kind.presets
    rules = kind.copy_rules(small)
    assert isinstance(rules, MyNpuCopyRules)
    assert rules is kind.copy_rules(small) and rules.most_load_columns(1) == small.lanes
    assert kind.copy_rules(large).most_load_columns(1) == large.lanes
    (step,) = kind.intrinsics(large).values()
    assert isinstance(step, MultiplyRows)
    assert kind.intrinsics(large) == {MULTIPLY: step} and step.config is large
    assert kind.intrinsics(small)[MULTIPLY].config is small


def test_installed_kinds_are_whole() -> None:
    for kind in kinds().values():
        kind.check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Toy"}, "device kind 'Toy': the name must match"),
        ({"name": "tpu"}, "device kind tpu: its config is of kind 'my_npu'"),
        ({"presets": ()}, "device kind my_npu: needs at least one preset"),
        ({"shape_fields": ("dim",)}, "device kind my_npu: its config has no shape field 'dim'"),
        ({"copy_rules_at": None}, "npu: needs all of intrinsics_at, copy_rules_at and emission_at"),
        (
            {"intrinsics_at": None, "copy_rules_at": None, "emission_at": None},
            "device kind my_npu: needs emission_at, or else routes_at",
        ),
        ({"presets": GEMMINI.presets}, "preset 'gemmini-16x16' is no MyNpuConfig"),
    ],
)
def test_what_is_no_kind(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(KindError, match=message):
        replace(KIND, **changes)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("my_nowhere:COMMANDS", "commands_at is 'my_nowhere:COMMANDS': No module"),
        ("my_npu.kind:NOTHING", "commands_at is 'my_npu.kind:NOTHING'.*no attribute"),
        ("my_npu.kind:MULTIPLY", "commands_at 'my_npu.kind:MULTIPLY' is a str, needs a CommandSet"),
        ("no place", "commands_at is 'no place'"),
    ],
)
def test_parts_that_are_not_there(place: str, message: str) -> None:
    kind = replace(KIND, commands_at=place)
    with pytest.raises(KindError, match=message):
        kind.check()


@pytest.mark.parametrize(
    ("part", "place", "message"),
    [
        ("intrinsics_at", "my_npu.commands:COMMANDS", "is a CommandSet, needs a tuple"),
        ("intrinsics_at", "my_npu.config:PRESETS", "has .*, needs subclasses of Intrinsic"),
        ("copy_rules_at", "my_npu.copies:MyNpuEmission", "has .*, needs subclasses of CopyRules"),
        ("emission_at", "my_npu.commands:COMMANDS", "is a CommandSet, needs a type"),
        ("routes_at", "my_npu.config:PRESETS", "has .*, needs subclasses of Route"),
    ],
)
def test_parts_that_are_something_else(part: str, place: str, message: str) -> None:
    changes: dict[str, Any] = {part: place}
    kind = replace(KIND, **changes)
    with pytest.raises(KindError, match=f"{part} .*{message}"):
        kind.check()


def test_the_set_to_calibrate_with_is_looked_at() -> None:
    place = "npu_target.devices.gemmini.calibration:GemminiCalibrationSet"  # a class, no set
    with pytest.raises(KindError, match=r"calibration_at .* is a ABCMeta, needs a CalibrationSet"):
        replace(KIND, calibration_at=place).check()
    assert replace(KIND, calibration_at=None).calibration is None


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            Features(step=MultiplyStep("vdp32.mul", 16)),
            "features of 'my_npu': the step is 'vdp32.mul', .*; those there are: 'my_npu.multiply'",
        ),
        (
            Features(elementwise=(ElementwiseStep(Elementwise.MAX, "my_npu.max"),)),
            "the elementwise step MAX is 'my_npu.max', which has to be the `call` of an intrinsic",
        ),
    ],
)
def test_steps_that_are_no_intrinsics(features: Features, message: str) -> None:
    kind = replace(KIND, features=lambda config: features)
    with pytest.raises(KindError, match=message):
        kind.check()
    small = replace(KIND, features=lambda c: features if c.lanes == 8 else KIND.features(c))
    with pytest.raises(KindError, match="features of 'my_npu-8': "):
        small.check()


def test_the_step_is_an_intrinsic_that_multiplies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MultiplyRows, "multiplies", False)
    with pytest.raises(KindError, match="MultiplyRows has to say `multiplies = True`"):
        replace(KIND).check()


@pytest.mark.parametrize(("row_elements", "is_right"), [(1, False), (8, False), (16, True)])
def test_weights_that_are_transposed_come_in_whole_blocks(
    monkeypatch: pytest.MonkeyPatch, row_elements: int, is_right: bool
) -> None:
    """Of few channels, definitions load parts of blocks, which are packed in no way."""
    monkeypatch.setattr(MyNpuCopyRules, "transposed_weights", True)
    step = MultiplyStep(MULTIPLY, 8)
    kind = replace(KIND, features=lambda config: Features(step=step, row_elements=row_elements))
    if is_right:
        kind.check()
        return
    text = f"row_elements of its features has to be those of a block, 16, .*, and is {row_elements}"
    with pytest.raises(KindError, match=text):
        kind.check()
