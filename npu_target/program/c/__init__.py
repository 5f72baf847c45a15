"""Programs as C for the device's own host."""

from .source import constant_names, header_text, kernel_name, kernel_source

__all__ = ["constant_names", "header_text", "kernel_name", "kernel_source"]
