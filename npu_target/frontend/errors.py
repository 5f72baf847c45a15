"""What is wrong with a file, or with what is asked of it."""

from ..errors import UserError


class FrontendError(UserError, ValueError):
    """A network that cannot be imported: which file, where in it, what to do."""
