"""What is wrong with a function that cannot be compiled."""

from __future__ import annotations


class CodegenError(ValueError):
    """A function that the device does not perform: a statement that no command computes, a tile
    in no memory of its own, a feature that it was built without."""


class DoesNotFit(CodegenError):
    """A schedule whose tiles exceed a memory of the device."""
