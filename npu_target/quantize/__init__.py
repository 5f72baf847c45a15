"""Post-training quantization to the device's numbers: float Relax in, integer Relax out."""

from .accuracy import Accuracy, compare
from .calibrate import Method, QuantizeError
from .emitter import QuantizeOptions
from .quantizer import Quantized, quantize

__all__ = [
    "Accuracy",
    "Method",
    "QuantizeError",
    "QuantizeOptions",
    "Quantized",
    "compare",
    "quantize",
]
