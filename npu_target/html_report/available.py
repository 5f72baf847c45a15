"""Whether a report can be made, asked before there is anything to report."""

from __future__ import annotations

from pathlib import Path

from ..files import check_can_write


def check_can_report(path: Path) -> None:
    """Raise WriteError for a place that cannot be written, ImportError where Jinja is missing."""
    check_can_write(path)
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "--report needs Jinja; install it with: pip install 'npu_target[report]'"
        ) from error
