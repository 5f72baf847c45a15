"""TensorFlow Lite's files, in integers exactly as its reference kernels compute them."""

from .reader import read

__all__ = ["read"]
