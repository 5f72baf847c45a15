"""A network as the list of its calls: which function, and which tensors it reads and writes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from math import prod
from typing import NamedTuple

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import GenericConst, GlobalVar, IRModule
from tvm.relax.backend.cpu_generic import pipeline as cpu_generic

from ..pack_constants import pack_constants
from ..relax_graph import dtype_of, is_tensor, op_name, shape_of
from .errors import ExportError


@dataclass(frozen=True)
class Tensor:
    """A compact array in row-major order."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.elements * np.dtype(self.dtype).itemsize


class Place(Enum):
    """Where a tensor lies."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    ARENA = "arena"


class Value(NamedTuple):
    """A tensor: the so many-th of its place."""

    place: Place
    number: int


@dataclass(frozen=True)
class Call:
    """`arguments` in the function's order, what it writes included; no function: copy the first to
    the second."""

    function: str | None
    arguments: tuple[Value, ...]


@dataclass
class Calls:
    """A network's calls, in order. `functions` : those that are called, by name."""

    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    constants: list[np.ndarray] = field(default_factory=list)
    arena: list[Tensor] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    functions: dict[str, tirx.PrimFunc] = field(default_factory=dict)


def calls_of(mod: IRModule) -> Calls:
    """The calls of a partitioned, scheduled module's ``main``, with the host's parts as TVM
    legalizes and fuses them, and weights in the layouts that the schedules want.

    Raises
    ------
    ExportError
        for a ``main`` that is no straight line of calls between tensors of fixed shapes.
    """
    target = tvm.target.Target("llvm")
    with target:
        mod = tvm.transform.Sequential(
            [
                relax.transform.RemoveRedundantReshape(),
                *cpu_generic.library_dispatch_passes(target),
                *cpu_generic.legalize_passes(target),
                *cpu_generic.dataflow_lower_passes(target),
            ]
        )(pack_constants(mod))
    return _Reader(mod).calls


def is_device(func: tirx.PrimFunc) -> bool:
    """Whether a function is a kernel of the device."""
    target = func.attrs.get("target") if func.attrs else None
    return target is not None and target.kind.name == "ext_dev"


class _Reader:
    """Values of ``main`` stand for tensors; several for the same one."""

    def __init__(self, mod: IRModule) -> None:
        self.calls = Calls()
        self._mod = mod
        self._values: dict[relax.Var, Value] = {}
        self._constants: dict[tuple[str, bytes], Value] = {}
        self._tuples: dict[relax.Var, list[relax.Expr]] = {}
        self._named: set[Value] = set()
        main = mod["main"]
        for index, param in enumerate(main.params):
            self.calls.inputs.append(self._tensor(param, str(param.name)))
            self._values[param] = Value(Place.INPUT, index)
        for block in main.body.blocks:
            for binding in block.bindings:
                self._bind(binding.var, binding.value)
        result = main.body.body
        fields = self._tuples.get(result, [result])
        if isinstance(result, relax.Tuple):
            fields = list(result.fields)
        self._return([self._value(part) for part in fields], fields)

    def _bind(self, var: relax.Var, value: relax.Expr) -> None:
        if op_name(value) == "relax.builtin.alloc_tensor":
            self._values[var] = Value(Place.ARENA, len(self.calls.arena))
            self.calls.arena.append(self._tensor(var, str(var.name)))
        elif op_name(value) == "relax.reshape":
            self._values[var] = self._value(value.args[0])
        elif isinstance(value, relax.Call) and isinstance(value.op, GlobalVar):
            name = str(value.op.name_hint)
            self.calls.functions[name] = self._mod[value.op]
            arguments = tuple(self._value(argument) for argument in value.args)
            self.calls.calls.append(Call(name, arguments))
        elif isinstance(value, relax.Tuple):
            self._tuples[var] = list(value.fields)
        else:
            self._values[var] = self._value(value)
            self._call_it(str(var.name), self._values[var])

    def _call_it(self, name: str, value: Value) -> None:
        """Give a tensor the name of what was computed, which its allocation does not tell."""
        if value.place is Place.ARENA and value not in self._named:
            self._named.add(value)
            self.calls.arena[value.number] = replace(self.calls.arena[value.number], name=name)

    def _value(self, expr: relax.Expr) -> Value:
        if isinstance(expr, relax.Var) and expr in self._values:
            return self._values[expr]
        if isinstance(expr, GenericConst):
            array = expr.value.numpy()
            key = str(array.dtype), array.tobytes()
            if key not in self._constants:
                self._constants[key] = Value(Place.CONSTANT, len(self.calls.constants))
                self.calls.constants.append(array)
            return self._constants[key]
        what = op_name(expr) or type(expr).__name__
        raise ExportError(
            f"the host would have to run {what}, which is no call of a compiled function; only "
            "networks of fixed shapes, without control flow, can be exported"
        )

    @staticmethod
    def _tensor(expr: relax.Expr, name: str) -> Tensor:
        if not is_tensor(expr):
            raise ExportError(f"{name} is {expr.ty}; only tensors of fixed shapes can be exported")
        return Tensor(name, dtype_of(expr), shape_of(expr))

    def _return(self, values: list[Value], exprs: list[relax.Expr]) -> None:
        """What is computed to be returned is written where it is returned; what is returned a
        second time, or was there before, is copied."""
        written: dict[Value, Value] = {}
        copies = []
        for index, (value, expr) in enumerate(zip(values, exprs, strict=True)):
            name = "output" if len(values) == 1 else f"output{index}"
            self.calls.outputs.append(self._tensor(expr, name))
            output = Value(Place.OUTPUT, index)
            if value.place is Place.ARENA and value not in written:
                written[value] = output
            else:
                copies.append(Call(None, (written.get(value, value), output)))
        self.calls.calls = [
            replace(call, arguments=tuple(written.get(value, value) for value in call.arguments))
            for call in self.calls.calls
        ] + copies
