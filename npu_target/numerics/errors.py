"""What is wrong with a choice of numbers."""

from ..errors import UserError


class NumericsError(UserError, ValueError):
    """A choice that cannot be met: which layer, why, what to do."""
