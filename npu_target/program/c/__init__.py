"""Programs as C for the device's own host."""

from .source import header_text, kernel_name, kernel_source

__all__ = ["header_text", "kernel_name", "kernel_source"]
