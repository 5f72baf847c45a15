"""Operators: what a device region computes, with known shapes and exact numbers.

A module, or a package, for each; what they share is beside them. See `registry` for how they are
found.
"""

from __future__ import annotations

from .add import Add, add_diagonals
from .conv2d import Conv2d
from .depthwise_conv2d import DepthwiseConv2d, depthwise_diagonal
from .global_avg_pool import GlobalAvgPool
from .matmul import Matmul
from .max_pool2d import MaxPool2d
from .operator import CANONICAL_SCALE, Arg, Operator, OperatorError
from .registry import make, operators, operators_of, register_operator, unregister_operator

__all__ = [
    "CANONICAL_SCALE",
    "Add",
    "Arg",
    "Conv2d",
    "DepthwiseConv2d",
    "GlobalAvgPool",
    "Matmul",
    "MaxPool2d",
    "Operator",
    "OperatorError",
    "add_diagonals",
    "depthwise_diagonal",
    "make",
    "operators",
    "operators_of",
    "register_operator",
    "unregister_operator",
]
