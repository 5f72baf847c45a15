"""What is wrong with a file, or with what is asked of it."""


class FrontendError(ValueError):
    """A network that cannot be imported: which file, where in it, what to do."""
