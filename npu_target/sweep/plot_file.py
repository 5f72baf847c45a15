"""Whether `--plot` can be drawn, asked before the devices are measured."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ..files import check_can_write
from ..tuning.errors import TuningError

_SUFFIXES = (".png", ".svg", ".pdf")


def check_can_plot(path: Path) -> None:
    """Raise WriteError for a place that cannot be written, TuningError for a file of another kind
    and where Matplotlib is missing."""
    if path.suffix not in ("", *_SUFFIXES):  # one without, such as a pipe, is SVG
        raise TuningError(f"--plot {path}: the file's name ends in one of: {', '.join(_SUFFIXES)}")
    if find_spec("matplotlib") is None:
        raise TuningError(
            "--plot needs Matplotlib; install it with: pip install 'npu_target[plot]'"
        )
    check_can_write(path)
