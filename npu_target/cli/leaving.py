"""Ending at once, before anything was begun."""

from __future__ import annotations

import os
from types import FrameType

INTERRUPTED = 130  # the exit code that a shell expects after Ctrl-C


def leave(number: int, frame: FrameType | None) -> None:
    """End at once. For as long as nothing was begun: an exception in the middle of an import may
    come out as any other, or not at all."""
    os.write(2, b"npu-target: stopped\n")
    os._exit(INTERRUPTED)
