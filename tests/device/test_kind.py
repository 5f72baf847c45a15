"""The manifest: what is told when it is made, and when its parts are imported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from device_api.adder.device import simulate
from toy_device import COMMANDS, NUMBERS, MultiplyStep, ToyCopyRules, ToyEmission, toy_kind

from npu_target.device import KindError, kinds
from npu_target.devices.gemmini import GEMMINI


def test_parts_are_imported_when_needed(tmp_path: Path) -> None:
    kind = toy_kind(tmp_path)
    assert kind.commands is COMMANDS
    assert kind.emission is ToyEmission
    assert kind.numbers is NUMBERS
    kind.check()


def test_a_simulator_is_a_part_that_may_be_given(tmp_path: Path) -> None:
    kind = toy_kind(tmp_path, simulator_at="device_api.adder.device:simulate")
    assert kind.simulate is simulate
    kind.check()
    with pytest.raises(KindError, match="CONFIG' is a AdderConfig, needs a function"):
        toy_kind(tmp_path, simulator_at="device_api.adder.device:CONFIG").check()


def test_parts_of_a_device_are_made_once(tmp_path: Path) -> None:
    kind = toy_kind(tmp_path)
    small, large = kind.presets
    rules = kind.copy_rules(small)
    assert isinstance(rules, ToyCopyRules)
    assert rules is kind.copy_rules(small) and rules.most_load_columns(1) == small.lanes
    assert kind.copy_rules(large).most_load_columns(1) == large.lanes
    (step,) = kind.intrinsics(large).values()
    assert isinstance(step, MultiplyStep)
    assert kind.intrinsics(large) == {"toy.multiply": step} and step.config is large
    assert kind.intrinsics(small)["toy.multiply"].config is small


def test_installed_kinds_are_whole() -> None:
    for kind in kinds().values():
        kind.check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Toy"}, "device kind 'Toy': the name must match"),
        ({"name": "tpu"}, "device kind tpu: its config is of kind 'toy'"),
        ({"presets": ()}, "device kind toy: needs at least one preset"),
        ({"shape_fields": ("dim",)}, "device kind toy: its config has no shape field 'dim'"),
        ({"presets": GEMMINI.presets}, "device kind toy: preset 'gemmini-16x16' is no Config"),
    ],
)
def test_what_is_no_kind(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    fields = {**changes}
    with pytest.raises(KindError, match=message):
        if "name" in fields:
            kind = toy_kind(tmp_path)
            replace(kind, name=str(fields["name"]))
        else:
            toy_kind(tmp_path, **fields)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("toy_nowhere:COMMANDS", "commands_at is 'toy_nowhere:COMMANDS': No module"),
        ("toy_device:NOTHING", "commands_at is 'toy_device:NOTHING'.*no attribute"),
        ("toy_device:LIMITS", "commands_at 'toy_device:LIMITS' is a str, needs a CommandSet"),
        ("no place", "commands_at is 'no place'"),
    ],
)
def test_parts_that_are_not_there(tmp_path: Path, place: str, message: str) -> None:
    kind = toy_kind(tmp_path, commands_at=place)
    with pytest.raises(KindError, match=message):
        kind.check()


@pytest.mark.parametrize(
    ("part", "place", "message"),
    [
        ("intrinsics_at", "toy_device:COMMANDS", "is a CommandSet, needs a tuple"),
        ("intrinsics_at", "toy_device:WRONG", "'toy_device:WRONG' has .*, needs subclasses of In"),
        ("copy_rules_at", "toy_device:ToyEmission", "has .*, needs subclasses of CopyRules"),
        ("emission_at", "toy_device:COMMANDS", "is a CommandSet, needs a type"),
    ],
)
def test_parts_that_are_something_else(tmp_path: Path, part: str, place: str, message: str) -> None:
    kind = toy_kind(tmp_path, **{part: place})
    with pytest.raises(KindError, match=f"{part} .*{message}"):
        kind.check()
