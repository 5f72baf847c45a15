"""What `--plot` is refused for, before the devices are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_target.files import WriteError
from npu_target.sweep import plot_file
from npu_target.sweep.plot_file import check_can_plot
from npu_target.tuning.errors import TuningError


def test_a_kind_of_file_that_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(TuningError, match=r"x\.foo: the file's name ends in one of: \.png"):
        check_can_plot(tmp_path / "x.foo")


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot_file, "find_spec", lambda name: None)
    with pytest.raises(TuningError, match=r"pip install 'npu_target\[plot\]'"):
        check_can_plot(tmp_path / "x.svg")


def test_a_place_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot_file, "find_spec", lambda name: True)
    check_can_plot(tmp_path / "x.svg")
    with pytest.raises(WriteError, match="does not exist"):
        check_can_plot(tmp_path / "none" / "x.svg")
