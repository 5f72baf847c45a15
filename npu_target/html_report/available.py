"""Whether a report can be made, asked before there is anything to report."""

from __future__ import annotations

from pathlib import Path

from ..errors import UserError
from ..files import check_can_write


class ReportError(UserError, RuntimeError):
    """A report that cannot be made; the text says what is missing."""


def check_can_report(path: Path) -> None:
    """Raise WriteError for a place that cannot be written, ReportError where Jinja is missing."""
    check_can_write(path)
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ReportError(
            "--report needs Jinja; install it with: pip install 'npu_target[report]'"
        ) from error
