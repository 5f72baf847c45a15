"""What is wrong with what a model is made of."""

from ..errors import UserError


class ModelError(UserError, ValueError):
    """A model, a weight file or an image that cannot be used; the text says what to change."""
