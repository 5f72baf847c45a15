"""What ends a job besides its being done: `npu_target.cli` turns it into one line."""

from __future__ import annotations


class UsageError(Exception):
    """Options that do not go together; the text is one line to say."""


class Stopped(Exception):
    """Ctrl-C, in a job that has ended in order; the text says what has become of its work."""
