"""What is wrong with what a model is made of."""


class ModelError(ValueError):
    """A model, a weight file or an image that cannot be used; the text says what to change."""
