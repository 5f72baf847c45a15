"""Post-training quantization to the device's numbers: float Relax in, integer Relax out."""

from .calibrate import Method, QuantizeError
from .emitter import QuantizeOptions
from .quantizer import Quantized, quantize

__all__ = [
    "Method",
    "QuantizeError",
    "QuantizeOptions",
    "Quantized",
    "quantize",
]
