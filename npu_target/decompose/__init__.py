"""Operators that no device has, spelled in those that some have, and in moves of elements.

All of it says the same as before, with the numbers that it finds: sums have the same terms, so of
integers the results are equal to the last bit. What is spelled anew in a float network
(`decompose_float`) is what the quantizer then makes integer; what is spelled anew in an integer
one (`decompose_integer`) is what a device has no kernel for.
"""

from .networks import decompose_float, decompose_integer

__all__ = ["decompose_float", "decompose_integer"]
