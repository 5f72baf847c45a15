"""Models in fewer operators: quantized ones as dequantize, operator, quantize."""

from .model import Normalized, normalize

__all__ = ["Normalized", "normalize"]
