"""Default schedules are kept for others that run the same code, by operator and device."""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
import time

import pytest

from npu_target import kept, topi
from npu_target.device import preset
from npu_target.schedule_rules import default, default_choice, knows_default
from npu_target.schedule_rules.template_tilings import TemplateTiling
from npu_target.tuning.kept_defaults import KeptDefaults

CONFIG = preset("gemmini-16x16")
OPERATOR = topi.Matmul(1, 16, 16, 16).canonical()


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Where they are kept; nothing is known at first, and what was edited a moment ago is code."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(default, "_chosen", {})
    monkeypatch.setattr(kept, "_began_at", time.time)
    kept._version.cache_clear()
    yield tmp_path / "cache" / "npu_target" / "defaults"
    kept._version.cache_clear()


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
    assert len(list(folder.glob("*/*"))) == 1


def test_another_operator_or_device_finds_nothing():
    keep()
    assert recalled(topi.Matmul(1, 16, 16, 32).canonical()) is None
    slower = dataclasses.replace(CONFIG, memory_latency_cycles=CONFIG.memory_latency_cycles + 1)
    assert recalled(config=slower) is None
    assert recalled() is not None


def test_another_version_of_the_package_of_an_operator_finds_nothing(tmp_path, monkeypatch):
    file = tmp_path / "kept_defaults_package.py"
    file.write_text("from npu_target.topi import Matmul\nclass Product(Matmul):\n    pass\n")
    os.utime(file, (0, 0))  # long ago
    monkeypatch.syspath_prepend(tmp_path)
    operator = importlib.import_module(file.stem).Product(1, 16, 16, 16)
    try:
        choice = keep(operator)
        assert recalled(operator) == choice
        file.write_text(file.read_text() + "\n# other tiles\n")
        os.utime(file, (0, 0))
        kept._version.cache_clear()
        assert recalled(operator) is None
    finally:
        del sys.modules[file.stem]


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
    (file,) = folder.glob("*/*")
    file.write_text(text)
    assert recalled() is None
    assert keep() == choice == recalled()


def test_those_of_templates_alone_are_kept(monkeypatch):
    trace = [[["GetSBlock", [], ["out"], ["b0"]]], [[0, [1, 16]]]]
    monkeypatch.setitem(default._chosen, default._key(OPERATOR, CONFIG), TemplateTiling(trace))
    assert keep() == TemplateTiling(trace) == recalled()
