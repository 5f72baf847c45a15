"""Command lines that end with an error."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def refusal(
    main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str], *arguments: str
) -> str:
    """The one line that a command ends with."""
    assert main(list(arguments)) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1, error
    return error
