"""How long a candidate may take where the user has given no time."""

from __future__ import annotations

_SIMULATED_SECONDS = 30.0
# Where a command of the user's runs it.
_EXTERNAL_SECONDS = 600.0


def default_timeout(runner: str) -> float:
    """In seconds, on the simulator (an empty name) or by a runner."""
    return _EXTERNAL_SECONDS if runner else _SIMULATED_SECONDS
