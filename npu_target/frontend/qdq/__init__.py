"""From quantize and dequantize around float operators to networks of integers."""

from .rewrite import Rewritten, to_integer

__all__ = ["Rewritten", "to_integer"]
