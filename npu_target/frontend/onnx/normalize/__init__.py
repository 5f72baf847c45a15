"""Models in fewer operators: quantized ones as dequantize, operator, quantize."""

from .model import normalize

__all__ = ["normalize"]
