"""Kinds of device from entry points, and finding devices among them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from my_npu.config import MyNpuConfig
from my_npu.kind import KIND

from npu_target.device import (
    ConfigError,
    find,
    kind_named,
    kind_of,
    kinds,
    load,
    preset,
    presets,
    registry,
)
from npu_target.device.config_file import KIND_KEY
from npu_target.devices.gemmini import GEMMINI, PRESETS


class Point(SimpleNamespace):
    """An entry point that gives an object, or raises it."""

    def load(self) -> Any:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


def point(name: str, loaded: Any) -> Point:
    return Point(name=name, value=f"{name}.kind:KIND", loaded=loaded)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that makes these entry points the installed ones."""

    def install(*points: Point) -> None:
        monkeypatch.setattr(registry, "entry_points", lambda group: list(points))
        registry.installed.cache_clear()
        presets.cache_clear()

    yield install
    monkeypatch.undo()
    registry.installed.cache_clear()
    presets.cache_clear()


def test_gemmini_is_installed() -> None:
    assert kinds()["gemmini"] is GEMMINI
    for config in PRESETS:
        assert preset(config.name) is config
        assert kind_of(config) is GEMMINI


def test_two_kinds_beside_each_other(installed: Any, tmp_path: Path) -> None:
    installed(point("gemmini", GEMMINI), point("my_npu", KIND))
    assert list(kinds()) == ["gemmini", "my_npu"]
    assert find("my_npu-8").dim == 8
    config = find("my_npu-8").replace(name="mine", most_rows=8)
    config.save(tmp_path / "mine.json")
    assert find(str(tmp_path / "mine.json")) == config == load(tmp_path / "mine.json")
    assert kind_of(config) is KIND is kind_named("my_npu")
    (tmp_path / "folder").mkdir()
    for name in ("toy", str(tmp_path / "folder")):
        with pytest.raises(ConfigError, match=r"there are: gemmini-16x16, .*my_npu, my_npu-8$"):
            find(name)


def test_a_checkout_that_is_not_installed_says_so(installed: Any) -> None:
    installed()
    for look in (preset, find):
        with pytest.raises(ConfigError, match=r"there are: none, .* not installed.*: pip install"):
            look("gemmini-16x16")


@pytest.mark.parametrize(
    ("loaded", "reason"),
    [
        (ImportError("no module named toy"), "no module named toy"),
        ("a text", "is a str, needs a DeviceKind"),
        (GEMMINI, "there is another kind of device called 'gemmini'"),
    ],
)
def test_what_cannot_be_used_is_left_out(installed: Any, loaded: Any, reason: str) -> None:
    installed(point("gemmini", GEMMINI), point("toy", loaded))
    with pytest.warns(UserWarning, match=f"device toy .* cannot be used: {reason}"):
        assert list(kinds()) == ["gemmini"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        assert len(presets()) == len(PRESETS)
    for look in (find, preset, kind_named):  # and to who asks for it
        with pytest.raises(ConfigError, match=f"; device toy .* cannot be used: {reason}"):
            look("toy")


@dataclass(frozen=True)
class OtherConfig(MyNpuConfig):
    kind: ClassVar[str] = "other"


def test_a_presets_name_is_taken_once(installed: Any) -> None:
    other = replace(KIND, name="other", config=OtherConfig, presets=(OtherConfig(name="my_npu-8"),))
    installed(point("a", KIND), point("b", other))
    with pytest.warns(UserWarning, match="there is another preset called 'my_npu-8'"):
        assert list(kinds()) == ["my_npu"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "x"}', f"needs the '{KIND_KEY}' of the device"),
        ('{"kind": 3}', f"needs the '{KIND_KEY}' of the device"),
        ('{"kind": "tpu"}', "mine.json: no kind of device is called 'tpu'; installed are: gemmini"),
    ],
)
def test_files_of_no_kind(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load(path)
