"""What ends a job besides its being done: `npu_target.cli` turns it into one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import UserError


class UsageError(Exception):
    """Options that are wrong, or do not go together; the text is one line to say."""


@contextmanager
def of_option(name: str) -> Iterator[None]:
    """What a user can mend is wrong with the option of this name itself, whatever files there are:
    a UsageError that begins with it, as argparse says it."""
    try:
        yield
    except UserError as error:
        raise UsageError(f"argument {name}: {error}") from error


class Stopped(Exception):
    """Ctrl-C, in a job that has ended in order; the text says what has become of its work."""
