"""What all errors that a user can mend have in common."""

from __future__ import annotations


class UserError(Exception):
    """The text says where, what is wrong, and what to do: for a user, without a traceback."""
