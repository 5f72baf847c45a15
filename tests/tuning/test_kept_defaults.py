"""Default schedules are kept for others that run the same code, and cost time only where not."""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from npu_target import topi
from npu_target.device import preset
from npu_target.schedule_rules import default, default_choice, knows_default
from npu_target.schedule_rules.template_tilings import TemplateTiling
from npu_target.tuning import kept_defaults
from npu_target.tuning.kept_defaults import KeptDefaults

CONFIG = preset("gemmini-16x16")
OPERATOR = topi.Matmul(1, 16, 16, 16).canonical()
HOUR_SECONDS = 3600


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Where they are kept; nothing is known at first, and what was edited a moment ago is code."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(default, "_chosen", {})
    monkeypatch.setattr(kept_defaults, "_began_at", time.time)
    kept_defaults._version.cache_clear()
    yield tmp_path / "cache" / "npu_target" / "defaults"
    kept_defaults._version.cache_clear()


def keep(operator=OPERATOR, config=CONFIG):
    """What was chosen is kept and forgotten. Returns it."""
    choice = default_choice(operator, config)
    KeptDefaults(config).keep(operator)
    default._chosen.clear()
    return choice


def recalled(operator=OPERATOR, config=CONFIG):
    """What another process finds, None for nothing."""
    default._chosen.clear()
    is_recalled = KeptDefaults(config).recall(operator)
    assert is_recalled == knows_default(operator, config)
    return default_choice(operator, config) if is_recalled else None


def test_what_is_kept_is_found_again(folder):
    assert recalled() is None
    choice = keep()
    assert recalled() == choice
    assert len(list(folder.rglob("*.json"))) == 1


def test_another_operator_or_device_finds_nothing():
    keep()
    assert recalled(topi.Matmul(1, 16, 16, 32).canonical()) is None
    slower = dataclasses.replace(CONFIG, memory_latency_cycles=CONFIG.memory_latency_cycles + 1)
    assert recalled(config=slower) is None
    assert recalled() is not None


def test_other_code_finds_nothing(folder, monkeypatch):
    keep()
    kept_defaults._version.cache_clear()
    monkeypatch.setattr(kept_defaults.tvm, "__version__", "0.0")
    assert recalled() is None
    assert keep() == recalled()
    assert len(list(folder.iterdir())) == 2


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package's folder, with an operator of its own; written an hour ago."""
    path = tmp_path / "packages" / "kept_defaults_package"
    path.mkdir(parents=True)
    (path / "__init__.py").write_text(
        "from npu_target.topi import Matmul\nclass Product(Matmul):\n    pass\n"
    )
    (path / "tiles.py").write_text("SIZE = 16\n")
    make_older(path)
    monkeypatch.syspath_prepend(path.parent)
    importlib.import_module(path.name)
    yield path
    del sys.modules[path.name]


def make_older(folder: Path) -> None:
    for path in folder.glob("*.py"):
        written = path.stat().st_mtime - HOUR_SECONDS
        os.utime(path, (written, written))


def test_another_version_of_the_package_of_an_operator_finds_nothing(package):
    operator = sys.modules[package.name].Product(1, 16, 16, 16)
    choice = keep(operator)
    assert recalled(operator) == choice
    (package / "tiles.py").write_text("SIZE = 32\n")
    make_older(package)
    kept_defaults._version.cache_clear()
    assert recalled(operator) is None


def test_code_newer_than_this_process_keeps_nothing(package, folder):
    """It may not be what this process runs."""
    (package / "tiles.py").write_text("SIZE = 32\n")
    written = (package / "tiles.py").stat().st_mtime + HOUR_SECONDS
    os.utime(package / "tiles.py", (written, written))
    keep(sys.modules[package.name].Product(1, 16, 16, 16))
    assert not folder.exists()


@pytest.mark.parametrize("file", [None, "/no/such/file.py"])
def test_code_that_is_in_no_file_keeps_nothing(folder, monkeypatch, file):
    """As an operator's that was typed into an interpreter, or whose file is gone."""
    module = ModuleType("typed_in")
    if file is not None:
        module.__file__ = file
    product = type("Product", (topi.Matmul,), {"__module__": module.__name__})
    operator = product(1, 16, 16, 16)
    for known in (False, True):
        if known:
            monkeypatch.setitem(sys.modules, module.__name__, module)
        keep(operator)
        assert recalled(operator) is None and not folder.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        "{}",
        '{"structure": {"no": 1}, "tiles": {}}',
        '{"structure": true}',
        '{"structure": true, "tiles": {"blocks": 3}}',
        "\0\0",
    ],
)
def test_what_cannot_be_read_is_written_anew(folder, text):
    choice = keep()
    (file,) = folder.rglob("*.json")
    file.write_text(text)
    assert recalled() is None
    assert keep() == choice == recalled()


def test_a_folder_that_cannot_be_written_keeps_nothing(folder):
    folder.parent.mkdir(parents=True)
    folder.write_text("a file in its place")
    keep()
    assert recalled() is None


def test_a_folder_that_cannot_be_read_has_nothing(folder):
    keep()
    (file,) = folder.rglob("*.json")
    file.unlink()
    file.mkdir()
    assert recalled() is None


def test_old_versions_go(folder, monkeypatch):
    for version in range(kept_defaults._MOST_VERSIONS + 3):
        old = folder / f"old{version}"
        old.mkdir(parents=True)
        (old / "a.json").write_text("{}")
        os.utime(old, (version, version))
    keep()
    left = {path.name for path in folder.iterdir()}
    assert len(left) == kept_defaults._MOST_VERSIONS
    assert {f"old{version}" for version in range(4)}.isdisjoint(left)
    assert recalled() is not None


def test_those_of_templates_alone_are_kept(monkeypatch):
    trace = [[["GetSBlock", [], ["out"], ["b0"]]], [[0, [1, 16]]]]
    monkeypatch.setitem(default._chosen, default._key(OPERATOR, CONFIG), TemplateTiling(trace))
    assert keep() == TemplateTiling(trace) == recalled()
