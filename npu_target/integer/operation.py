"""An operation of integer networks: a name, numbers, and one meaning in two forms.

A network in integer form is a Relax function of ordinary operators (convolutions and products of
int8 into int32, additions of a bias, maxima, reshapes, and whatever stays float) and of these, for
which Relax has no operator. Such an operation is a ``call_tir`` of a function that computes it on
any host, exactly, and that says in an attribute which operation it is: so the network runs as it
stands, and who can do better (`npu_target.numerics`) reads what is asked for.
"""

from __future__ import annotations

import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from tvm import relax, te
from tvm.ir import IRModule
from tvm.tirx import PrimFunc

from ..relax_graph import op_name

# Attribute of the function of an operation: which one it is, in JSON.
ATTRIBUTE = "npu.integer"

Class = TypeVar("Class", bound="type[IntegerOperation]")
_registered: dict[str, type[IntegerOperation]] = {}


@dataclass(frozen=True)
class IntegerOperation(ABC):
    """Base of all. Subclasses are frozen dataclasses of numbers, texts and tuples of them."""

    op: ClassVar[str]

    @property
    def constants(self) -> tuple[np.ndarray, ...]:
        """Arrays that its function takes behind its inputs."""
        return ()

    @abstractmethod
    def compute(self, *values: te.Tensor) -> te.Tensor:
        """Its result of inputs and `constants`, as the host computes it."""

    @abstractmethod
    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Its result in NumPy, to the last bit."""


def register_operation(cls: Class) -> Class:
    """Decorator of an operation's class: :func:`operation_of` knows it then."""
    if not dataclasses.is_dataclass(cls) or _registered.setdefault(cls.op, cls) is not cls:
        raise ValueError(f"{cls.__qualname__}: no dataclass, or the name {cls.op!r} is taken")
    return cls


def emit(
    builder: relax.BlockBuilder,
    operation: IntegerOperation,
    inputs: Sequence[relax.Expr],
    name: str,
) -> relax.Var:
    """The variable ``name``, bound to an operation on tensors of known shapes."""
    constants = operation.constants
    types = [_type_of(value) for value in inputs]
    types += [(array.shape, str(array.dtype)) for array in constants]
    places = [te.placeholder(shape, dtype, f"p{i}") for i, (shape, dtype) in enumerate(types)]
    result = operation.compute(*places)
    # Extents of 64 bits, as Relax has them: else TVM fuses no such function with its own.
    function = te.create_prim_func([*places, result], index_dtype_override="int64")
    function = function.without_attr("global_symbol")
    function = function.with_attr(ATTRIBUTE, _to_json(operation))
    shape = tuple(int(extent) for extent in result.shape)
    call = relax.call_tir(
        builder.add_func(function, f"{name}_{operation.op}"),
        [*inputs, *(relax.const(array, str(array.dtype)) for array in constants)],
        relax.TensorType(shape, str(result.dtype)),
    )
    return builder.emit(call, name)


def operation_of(
    mod: IRModule, value: relax.Expr
) -> tuple[IntegerOperation, tuple[relax.Expr, ...]] | None:
    """The operation that a bound value is, and its inputs; None for what is no such operation."""
    if op_name(value) != "relax.call_tir":
        return None
    function = mod[value.args[0]]
    if not isinstance(function, PrimFunc) or not function.attrs or ATTRIBUTE not in function.attrs:
        return None
    fields: dict[str, Any] = json.loads(str(function.attrs[ATTRIBUTE]))
    cls = _registered[fields.pop("op")]
    operation = cls(**{name: _tuples(field) for name, field in fields.items()})
    inputs = tuple(value.args[1].fields)
    return operation, inputs[: len(inputs) - len(operation.constants)]


def unary(function: Callable[..., Any], value: te.Tensor, name: str) -> te.Tensor:
    """``function(element, *indices)`` for every element."""
    return te.compute(value.shape, lambda *at: function(value(*at), *at), name=name)


def _type_of(value: relax.Expr) -> tuple[tuple[int, ...], str]:
    return tuple(int(extent) for extent in value.ty.shape), str(value.ty.dtype.dtype)


def _to_json(operation: IntegerOperation) -> str:
    return json.dumps({"op": operation.op, **dataclasses.asdict(operation)}, sort_keys=True)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
