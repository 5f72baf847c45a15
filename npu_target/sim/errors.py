"""What goes wrong for reasons the user can do something about."""

from __future__ import annotations

from ..errors import UserError


class SimError(UserError):
    """A file, an option or a command that cannot be obeyed; the text is one line to say."""
