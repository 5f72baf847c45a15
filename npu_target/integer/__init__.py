"""Integer networks: operations on int8 tensors whose numbers have names, whoever computes them."""

from .add import Add
from .average_pool import AveragePool
from .linear_add import LinearAdd
from .linear_softmax import LinearSoftmax
from .mean import Mean
from .operation import IntegerOperation, emit, operation_of, register_operation
from .quantization import Quantization
from .quantize import Quantize
from .requantize import RULES, Requantize
from .softmax import Softmax
from .table import Table

__all__ = [
    "RULES",
    "Add",
    "AveragePool",
    "IntegerOperation",
    "LinearAdd",
    "LinearSoftmax",
    "Mean",
    "Quantization",
    "Quantize",
    "Requantize",
    "Softmax",
    "Table",
    "emit",
    "operation_of",
    "register_operation",
]
