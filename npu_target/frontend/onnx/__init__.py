"""Networks in .onnx files, in float or quantized."""

from .reader import read

__all__ = ["read"]
