"""Errors that end a run with one line for the user."""

from __future__ import annotations

from ..errors import UserError


class TuningError(UserError, RuntimeError):
    """Something the user can mend; the text says where, what is wrong, and what to do."""


class RacesError(TuningError):
    """A program that relies on an order that the device does not keep."""


class LogError(TuningError):
    """Tuning logs that cannot be used, or cannot be written."""
