"""Integer networks: operations on int8 tensors whose numbers have names, whoever computes them."""

from .linear_add import LinearAdd
from .operation import IntegerOperation, emit, operation_of, register_operation
from .quantization import Quantization
from .requantize import RULES, Requantize
from .table import Table

__all__ = [
    "RULES",
    "IntegerOperation",
    "LinearAdd",
    "Quantization",
    "Requantize",
    "Table",
    "emit",
    "operation_of",
    "register_operation",
]
