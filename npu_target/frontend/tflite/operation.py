"""An operator of a file on its way into Relax: what it reads, what it is asked for, how it fails.

Inside the network, int8 and uint8 tensors that are quantized are int8: 128 less than the file's
uint8, zero points included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tvm import relax

from ... import integer
from ...integer import IntegerOperation, Quantization
from ...relax_graph import shape_of
from ..errors import FrontendError
from ..foreign import first_line, refusing
from .file import Network, Record, Tensor

UINT8_OFFSET = 128
_EIGHT_BITS = ("int8", "uint8")


@dataclass(frozen=True)
class Affine:
    """``real = scale * (int8 - zero_point)``, of a whole tensor."""

    scale: float
    zero_point: int


@dataclass
class Values:
    """What is known so far of a network's tensors, by index.

    expressions : what holds a tensor in Relax.
    constants : the file's, and what operators make of constants alone; uint8 stays uint8.
    """

    builder: relax.BlockBuilder
    network: Network
    expressions: dict[int, relax.Expr] = field(default_factory=dict)
    constants: dict[int, np.ndarray] = field(default_factory=dict)


class Operation:
    """One operator.

    name : of the variable that holds its first result.
    """

    def __init__(self, record: Record, values: Values, name: str) -> None:
        self._record = record
        self._values = values
        self.builder = values.builder
        self.name = name
        tensors = values.network.tensors
        self.inputs: list[Tensor | None] = [
            tensors[index] if index >= 0 else None for index in record.inputs
        ]
        self.outputs: list[Tensor] = [tensors[index] for index in record.outputs if index >= 0]
        if not self.outputs:
            raise self.refusal("it makes nothing")

    @property
    def kind(self) -> str:
        """As TFLite calls it."""
        return self._record.kind

    def refusal(self, why: str) -> FrontendError:
        """The error that says which operator is meant, and why it is not imported."""
        record, tensors = self._record, self._values.network.tensors
        made = ", ".join(repr(tensors[index].name) for index in record.outputs if index >= 0)
        taken = ", ".join(repr(tensors[index].name) for index in record.inputs if index >= 0)
        path = self._values.network.path
        return FrontendError(
            f"{path}: operator {record.index} ({record.kind}; makes {made or 'nothing'} of "
            f"{taken or 'nothing'}): {why}"
        )

    def unfit(self, error: Exception) -> FrontendError:
        """The error for what refuses the numbers of the operator."""
        return self.refusal(f"its numbers do not fit together: {first_line(error)}")

    def option(self, name: str, default: Any = None) -> Any:
        """An option by the name of TFLite's schema; an error without it and a default."""
        value = self._record.options.get(name, default)
        if value is None:
            raise self.refusal(f"its option {name} is missing")
        return value

    def tensor(self, position: int) -> Tensor:
        """The operand's record."""
        found = self.inputs[position] if position < len(self.inputs) else None
        if found is None:
            raise self.refusal(f"its operand {position} is missing")
        return found

    def has(self, position: int) -> bool:
        """Whether there is such an operand."""
        return position < len(self.inputs) and self.inputs[position] is not None

    @property
    def integer(self) -> bool:
        """Whether its first result is quantized to 8 bits."""
        return is_quantized(self.outputs[0])

    def is_constant(self, position: int) -> bool:
        return self.tensor(position).index in self._values.constants

    def constant(self, position: int) -> np.ndarray:
        """The operand's data as the file has them."""
        tensor = self.tensor(position)
        if tensor.index not in self._values.constants:
            raise self.refusal(f"{tensor.name!r} must be a constant, it is computed")
        return self._values.constants[tensor.index]

    def integers(self, position: int) -> list[int]:
        """A constant operand of integers as a flat list: axes, sizes."""
        values = self.constant(position)
        if values.dtype.kind not in "iu" or values.size > 64:
            raise self.refusal(f"{self.tensor(position).name!r} is no short list of integers")
        return [int(value) for value in values.reshape(-1)]

    def float_constant(self, position: int) -> np.ndarray:
        """A constant operand in float32: float16 widened, integers times their scales."""
        values, tensor = self.constant(position), self.tensor(position)
        if values.dtype.kind == "f":
            return values.astype(np.float32)
        if self._quantization(tensor) is None:
            raise self.refusal(f"{tensor.name!r} is of {values.dtype} without a scale")
        shape = [1] * values.ndim
        if len(tensor.scales) > 1:
            shape[self._axis(tensor)] = -1
        scales = np.array(tensor.scales, np.float32).reshape(shape)
        zero_points = np.array(tensor.zero_points or (0,), np.float32)
        if zero_points.size > 1:
            zero_points = zero_points.reshape(shape)
        return (values.astype(np.float32) - zero_points) * scales

    def expression(self, position: int) -> relax.Expr:
        """The operand in Relax: int8 where it is quantized to 8 bits, else as it is."""
        tensor = self.tensor(position)
        found = self._values.expressions.get(tensor.index)
        if found is not None:
            return found
        if tensor.index not in self._values.constants:
            if tensor.sparse:
                raise self.refusal(f"{tensor.name!r} is sparse; convert without sparsity")
            raise self.refusal(f"{tensor.name!r} is read before it is computed")
        values = self._values.constants[tensor.index]
        if self.integer and is_quantized(tensor):
            values = as_int8(values)
        elif values.dtype == np.float16 or (
            self.outputs[0].dtype == "float32" and is_quantized(tensor)
        ):
            values = self.float_constant(position)
        return relax.const(np.asarray(values, order="C"), str(values.dtype))

    def shape(self, position: int) -> tuple[int, ...]:
        """The operand's, as it is when the network runs."""
        tensor = self.tensor(position)
        if tensor.index in self._values.constants:
            return self._values.constants[tensor.index].shape
        return shape_of(self.expression(position))

    def affine(self, tensor: Tensor) -> Affine:
        """What the int8 numbers of a tensor are worth inside the network."""
        if tensor.dtype == "int16":
            raise self.refusal(
                f"{tensor.name!r} is int16: convert with int8 activations, not with 16x8"
            )
        if not is_quantized(tensor):
            raise self.refusal(f"{tensor.name!r} is {tensor.dtype}, not quantized to 8 bits")
        quantization = self._quantization(tensor)
        if quantization is None or quantization.axis is not None:
            raise self.refusal(f"{tensor.name!r} has scales for single channels; one is possible")
        offset = UINT8_OFFSET if tensor.dtype == "uint8" else 0
        return Affine(quantization.scale[0], quantization.zero_point[0] - offset)

    def operand(self, position: int) -> tuple[relax.Expr, Affine]:
        """A quantized operand with what its numbers are worth."""
        affine = self.affine(self.tensor(position))
        return self.expression(position), affine

    @property
    def result(self) -> Affine:
        """What the numbers of the first result are worth."""
        return self.affine(self.outputs[0])

    def require_same_scale(self, position: int = 0) -> None:
        """Refuse an operator that would have to rescale where TFLite does not."""
        if self.affine(self.tensor(position)) != self.result:
            raise self.refusal("its result has another scale or zero point than its operand")

    def require_float(self) -> None:
        """Refuse integers that stand for themselves, which TFLite rounds in its own way."""
        dtype = self.outputs[0].dtype
        if dtype != "float32":
            raise self.refusal(f"it is imported of float32, not of {dtype} without a scale")

    def emit(self, value: relax.Expr, part: str = "") -> relax.Var:
        """Bind an expression to a variable that is named for the operator, and for its part."""
        return self.bind(value, f"{self.name}_{part}" if part else self.name)

    def bind(self, value: relax.Expr, name: str) -> relax.Var:
        """Bind an expression to a variable of this name."""
        # Here TVM finds the type, and says by many kinds of error that there is none.
        with refusing(lambda error: str(self.unfit(error))):
            return self.builder.emit(value, name)

    def emit_integer(
        self, operation: IntegerOperation, inputs: Sequence[relax.Expr], part: str = ""
    ) -> relax.Var:
        """Bind a named operation to a variable."""
        name = f"{self.name}_{part}" if part else self.name
        return integer.emit(self.builder, operation, inputs, name)

    def make_constant(self, value: np.ndarray) -> None:
        """The result is known already."""
        self._values.constants[self.outputs[0].index] = value

    def _quantization(self, tensor: Tensor) -> Quantization | None:
        """What a tensor's numbers are worth; refused if they cannot be."""
        try:
            return file_quantization(tensor)
        except ValueError as error:
            raise self.refusal(f"{tensor.name!r}: {error}") from error

    def _axis(self, tensor: Tensor) -> int:
        if not 0 <= tensor.axis < len(tensor.shape) or (
            tensor.shape[tensor.axis] != len(tensor.scales)
        ):
            raise self.refusal(
                f"{tensor.name!r} has {len(tensor.scales)} scales along axis {tensor.axis} of "
                f"shape {tensor.shape}"
            )
        return tensor.axis

    def channel_scales(self, position: int, axis: int) -> tuple[float, ...]:
        """The scales of weights: one, or one for each index of ``axis``."""
        tensor = self.tensor(position)
        quantization = self._quantization(tensor)
        if quantization is None:
            raise self.refusal(f"{tensor.name!r} has no scale")
        if quantization.axis is not None and self._axis(tensor) != axis:
            raise self.refusal(
                f"{tensor.name!r} has its scales along axis {tensor.axis}, they belong along {axis}"
            )
        return quantization.scale


Converter = Callable[[Operation], "relax.Expr | Sequence[relax.Expr] | None"]


def is_quantized(tensor: Tensor) -> bool:
    """Whether a tensor is of 8 bits that stand for real numbers."""
    return tensor.dtype in _EIGHT_BITS and bool(tensor.scales)


def as_int8(values: np.ndarray) -> np.ndarray:
    """Numbers of 8 bits as they are inside the network."""
    if values.dtype == np.uint8:
        return (values.astype(np.int16) - UINT8_OFFSET).astype(np.int8)
    return values


def file_quantization(tensor: Tensor) -> integer.Quantization | None:
    """What a tensor's numbers are worth, as the file says; None for one that is not quantized.

    Raises
    ------
    ValueError
        for scales and zero points that cannot be.
    """
    if not tensor.scales:
        return None
    least, most = (0, 255) if tensor.dtype == "uint8" else (-128, 127)
    zero_points = tensor.zero_points or (0,)
    for zero_point in zero_points:
        if tensor.dtype in _EIGHT_BITS and not least <= zero_point <= most:
            raise ValueError(
                f"a zero point of {tensor.dtype} must be from {least} to {most}, got {zero_point}"
            )
    return integer.Quantization(
        tensor.scales, zero_points, tensor.axis if len(tensor.scales) > 1 else None
    )
