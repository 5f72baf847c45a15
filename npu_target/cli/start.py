"""Where the command begins: before anything is imported that takes time."""

from __future__ import annotations

import signal
import sys

from .leaving import leave

# With this import, not after it: a Ctrl-C in between would be a traceback.
signal.signal(signal.SIGINT, leave)


def start() -> None:
    from .main import main

    sys.exit(main())
