"""What is wrong with a calibration, for its user."""

from __future__ import annotations

from ..errors import UserError


class CalibrationError(UserError, ValueError):
    """The text is one line and says what to do."""
