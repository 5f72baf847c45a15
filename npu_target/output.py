"""Standard output that cannot be written any more."""

from __future__ import annotations

import os
import sys


def drop_output() -> None:
    """Nothing more is written to standard output: neither what is still in its buffer, which the
    interpreter would flush at its end, nor what comes."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def end_output() -> None:
    """Write what is in the buffer, or drop it where it cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        drop_output()
