"""Calls into libraries that raise anything, kept apart from errors of our own.

The importers of TVM and the loader of PyTorch have no error of their own: what they trip over in a
file may be a KeyError as well as a RuntimeError. A call of theirs stands in `refusing`. Code of
ours that they call back stands in `called_back`: what goes wrong there is a bug, not the file's
fault, and comes out as what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .errors import FrontendError


class _Carried(BaseException):
    """Takes an error of code that is called back past handlers of ``Exception``."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


@contextmanager
def refusing(message: Callable[[Exception], str]) -> Iterator[None]:
    """Whatever a library raises as a :class:`FrontendError`, the cause chained. For single calls:
    within, code of ours stands in :func:`called_back`."""
    try:
        yield
    except _Carried as carried:
        raise carried.error from carried.error.__cause__
    except Exception as error:
        raise FrontendError(message(error)) from error


@contextmanager
def called_back() -> Iterator[None]:
    """Errors of what stands here leave the :func:`refusing` around it as they are."""
    try:
        yield
    except Exception as error:
        raise _Carried(error) from error


def first_line(error: Exception) -> str:
    """The kind of an error and the first line of what it says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
