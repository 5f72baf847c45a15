"""Where the command begins: before anything is imported that takes time."""

from __future__ import annotations

import os
import signal
import sys

from .leaving import leave

# With this import, not after it: a Ctrl-C in between would be a traceback.
signal.signal(signal.SIGINT, leave)


def start() -> None:
    # Closed ones (`>&-`): what is opened next would be in their place, and get what is printed.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    from .main import main

    sys.exit(main())
