"""A Relax function seen as a list of bindings: who makes a value and who uses it.

The quantizer and the partitioner both walk a straight-line function in order and ask the
same questions of it; this file answers them and knows nothing of devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import tvm_ffi
from tvm import relax
from tvm.ir import GenericConst, IRModule, Op
from tvm.relax.dpl import DFPattern

from .errors import UserError

EmitBinding = Callable[[relax.BlockBuilder, relax.Var, dict[relax.Var, relax.Expr]], None]


class GraphError(UserError, ValueError):
    """A Relax module whose form this package cannot walk."""


class Graph:
    """One function of ``mod`` whose body is a straight line of bindings.

    Aliases (``gv = lv5``) are resolved first, so that every binding computes something.

    Raises :class:`GraphError` when the function is missing, has control flow, or binds by
    ``match_cast``.
    """

    def __init__(self, mod: IRModule, name: str = "main") -> None:
        names = [var.name_hint for var in mod.get_global_vars()]
        if name not in names:
            raise GraphError(f"the module needs a function {name!r}, it has {sorted(names)}")
        function = mod[name]
        if not isinstance(function, relax.Function):
            raise GraphError(
                f"{name!r} must be a Relax function, it is a {type(function).__name__}"
            )
        body = function.body
        if not isinstance(body, relax.SeqExpr):
            raise GraphError(f"{name!r}: the body must be a sequence of bindings")
        self.name = name
        self.params: list[relax.Var] = list(function.params)
        self.order: list[relax.Var] = []
        self.position: dict[relax.Var, int] = {}  # in order
        self.variable: dict[relax.Expr, relax.Var] = {}  # the other way round than value
        self.value: dict[relax.Var, relax.Expr] = {}
        self.users: dict[relax.Var, list[relax.Var]] = {}
        self._target: dict[relax.Var, relax.Var] = {}  # what an alias stands for
        for block in body.blocks:
            for binding in block.bindings:
                self._add(binding)
        self.output = self._without_aliases(body.body)
        self.output_vars = frozenset(vars_in(self.output))
        self._value_map = tvm_ffi.convert(self.value)  # once: each match would convert it anew

    def extract(self, pattern: DFPattern, root: relax.Var) -> Mapping[DFPattern, relax.Expr] | None:
        """What the parts of ``pattern`` match if its root matches ``root``'s value, else None.

        TVM's matcher looks through variables; where a part matched a bound value, the variable
        stands in the result.
        """
        matched = pattern.extract_matched_expr(self.value[root], self._value_map)
        if matched is None:
            return None
        return {part: self.variable.get(expr, expr) for part, expr in matched.items()}

    def _add(self, binding: relax.Binding) -> None:
        if not isinstance(binding, relax.VarBinding):
            raise GraphError(
                f"{self.name}: {binding.var.name} is bound by match_cast: its shape depends on "
                "values (ONNX's NonZero, for one); take it out of the network"
            )
        if isinstance(binding.value, relax.If):
            raise GraphError(f"{self.name}: {binding.var.name} is an if; only straight lines work")
        var, value = binding.var, self._without_aliases(binding.value)
        if isinstance(value, relax.Var):
            self._target[var] = value
            return
        self.position[var] = len(self.order)
        self.order.append(var)
        self.value[var] = value
        self.variable[value] = var
        for used in vars_in(value):
            users = self.users.setdefault(used, [])
            if var not in users:
                users.append(var)

    def _without_aliases(self, expr: relax.Expr) -> relax.Expr:
        used = list(vars_in(expr))
        if self._target.keys().isdisjoint(used):
            return expr
        replaced = substitute(expr, {var: self._target.get(var, var) for var in used})
        return relax.BlockBuilder().normalize(replaced)

    def sole_user(self, var: relax.Var) -> relax.Var | None:
        """The one binding that uses ``var``; None if there are more or it leaves the function."""
        users = self.users.get(var, [])
        return users[0] if len(users) == 1 and var not in self.output_vars else None

    def producer(self, expr: relax.Expr) -> relax.Expr:
        """What an argument stands for: the value bound to a variable, else itself."""
        return self.value.get(expr, expr) if isinstance(expr, relax.Var) else expr


def vars_in(expr: relax.Expr) -> Iterator[relax.Var]:
    """Variables that a non-nested expression reads, in order, with repetitions."""
    if isinstance(expr, relax.Var):
        yield expr
    elif isinstance(expr, relax.Call):
        for arg in expr.args:
            yield from vars_in(arg)
    elif isinstance(expr, relax.Tuple):
        for field in expr.fields:
            yield from vars_in(field)
    elif isinstance(expr, relax.TupleGetItem):
        yield from vars_in(expr.tuple_value)


def substitute(expr: relax.Expr, replacement: Mapping[relax.Var, relax.Expr]) -> relax.Expr:
    """``expr`` with its variables replaced; the types are deduced anew when it is emitted."""
    if isinstance(expr, relax.Var):
        return replacement[expr]
    if isinstance(expr, relax.Call):
        args = [substitute(arg, replacement) for arg in expr.args]
        return relax.Call(expr.op, args, expr.attrs, expr.ty_args)
    if isinstance(expr, relax.Tuple):
        return relax.Tuple([substitute(field, replacement) for field in expr.fields])
    if isinstance(expr, relax.TupleGetItem):
        return relax.TupleGetItem(substitute(expr.tuple_value, replacement), expr.index)
    return expr


def op_name(expr: relax.Expr) -> str | None:
    """``relax.nn.conv2d`` for a call of that operator; None for anything but an operator call."""
    if isinstance(expr, relax.Call) and isinstance(expr.op, Op):
        return str(expr.op.name)
    return None


def is_tensor(expr: relax.Expr) -> bool:
    """Whether ``expr`` is a tensor of known, static shape."""
    if not isinstance(expr.ty, relax.TensorType) or not isinstance(expr.ty.shape, relax.ShapeExpr):
        return False
    return all(hasattr(extent, "value") for extent in expr.ty.shape)


def shape_of(expr: relax.Expr) -> tuple[int, ...]:
    """The static shape of a tensor expression."""
    if not is_tensor(expr):
        raise GraphError(f"a tensor of static shape is needed, there is {expr.ty}")
    return tuple(int(extent) for extent in expr.ty.shape)


def dtype_of(expr: relax.Expr) -> str:
    """The element type of a tensor expression, ``""`` for what is not a tensor."""
    return str(expr.ty.dtype.dtype) if isinstance(expr.ty, relax.TensorType) else ""


def constant_of(expr: relax.Expr) -> np.ndarray | None:
    """The value of a constant expression; None for anything else."""
    return expr.value.numpy() if isinstance(expr, GenericConst) else None


def attr_ints(values: Any) -> tuple[int, ...]:
    """An operator attribute such as strides as Python ints."""
    return tuple(int(value) for value in values)


def rebuild(graph: Graph, emit: EmitBinding) -> IRModule:
    """A module with the function of ``graph`` built anew, and whatever ``emit`` adds to it.

    ``emit(builder, var, values)`` is called for each binding in order; ``values`` holds the new
    expression for each old variable so far, and ``emit`` adds those that are still needed.
    """
    builder = relax.BlockBuilder()
    params = [relax.Var(param.name, param.ty) for param in graph.params]
    values: dict[relax.Var, relax.Expr] = dict(zip(graph.params, params, strict=True))
    with builder.function(graph.name, params):
        with builder.dataflow():
            for var in graph.order:
                emit(builder, var, values)
            output = builder.emit_output(substitute(graph.output, values))
        builder.emit_func_output(output)
    return builder.get()


def copy_binding(
    builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr], graph: Graph
) -> None:
    """Emit the binding of ``var`` unchanged."""
    values[var] = builder.emit(substitute(graph.value[var], values), var.name)


def replace_function(mod: IRModule, name: str, made: IRModule) -> IRModule:
    """A copy of ``mod`` in which ``name`` is that of ``made``, whose other functions are added."""
    result = mod.clone()
    result[result.get_global_var(name)] = made[name].with_attr("global_symbol", name)
    for var, function in made.functions.items():
        if var.name_hint != name:
            result[var] = function
    return result
