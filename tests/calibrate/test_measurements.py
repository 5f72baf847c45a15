"""The file of what was measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calibrate.few_programs import few

from npu_target.calibrate.errors import CalibrationError
from npu_target.calibrate.measurements import Measurements


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    measurements = few()
    measurements.cycles[0] += [100, 110, 90]
    measurements.cycles[2] += [1000]
    measurements.save(tmp_path / "m.json")
    again = Measurements.load(tmp_path / "m.json")
    assert again == measurements
    assert again.config == measurements.config
    assert again.runs == 4
    assert [cycles for _, cycles in again.measured()] == [100, 1000]
    assert [one.group for one, _ in again.measured()] == ["loads", "loads"]
    assert again.spread() == pytest.approx(0.2)
    assert list(tmp_path.iterdir()) == [tmp_path / "m.json"]


def test_without_repeats_nothing_is_known_of_the_spread() -> None:
    measurements = few()
    measurements.cycles[0] += [100]
    assert measurements.spread() is None


def _set(*path: Any, value: Any) -> Callable[[Any], None]:
    def damage(text: Any) -> None:
        for key in path[:-1]:
            text = text[key]
        text[path[-1]] = value

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        _set("format", value="npu_target.calibrate/0"),
        _set("experiments", value=[]),
        _set("experiments", value=7),
        _set("experiments", 0, "program", value="AAAA"),
        _set("experiments", 0, "program", value="?"),
        _set("experiments", 0, "program", value="\u00e9"),
        _set("experiments", 0, "program", value=None),
        _set("experiments", 0, "cycles", value=[0]),
        _set("experiments", 0, "cycles", value=[-1]),
        _set("experiments", 0, "cycles", value=["1"]),
        _set("experiments", 0, "cycles", value=3),
        lambda text: text["experiments"][0].pop("cycles"),
        lambda text: text.pop("command"),
    ],
)
def test_what_is_damaged_is_refused(damage: Callable[[Any], None], tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    few().save(file)
    text = json.loads(file.read_text())
    damage(text)
    file.write_text(json.dumps(text))
    with pytest.raises(CalibrationError, match=r"m\.json: "):
        Measurements.load(file)


@pytest.mark.parametrize("data", [b"", b"[]", b"7", b"\xff", b"{", b'{"format": 1}'])
def test_other_files_are_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(data)
    with pytest.raises(CalibrationError, match=r"m\.json: "):
        Measurements.load(tmp_path / "m.json")
