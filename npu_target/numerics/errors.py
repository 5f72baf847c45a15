"""What is wrong with a choice of numbers."""


class NumericsError(ValueError):
    """A choice that cannot be met: which layer, why, what to do."""
