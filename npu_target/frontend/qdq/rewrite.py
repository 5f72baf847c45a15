"""A function in float between quantize and dequantize, made one in integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ...integer import Quantization
from ...relax_graph import (
    Graph,
    dtype_of,
    op_name,
    replace_function,
    substitute,
    vars_in,
)
from ..errors import FrontendError
from ..layout import channels_last
from .emit import Written
from .groups import Core, Elementwise, Group, Product
from .match import Matcher
from .numbers import SHIFTS, tensor_quantization
from .sums import product_sums
from .tables import tables
from .transposed import without_transposed
from .values import Values


@dataclass(frozen=True)
class Rewritten:
    """An integer network.

    quantizations : what int8 values are worth, by the name of their variable.
    origins : the variable of the float function that a variable holds in integers, by name.
    remarks : what was rounded, and what stayed float though its operands are integers.
    """

    mod: IRModule
    quantizations: Mapping[str, Quantization]
    origins: Mapping[str, str]
    remarks: tuple[str, ...]


def to_integer(mod: IRModule, name: str = "main") -> Rewritten:
    """Function ``name``, of ``relax.quantize``, ``relax.dequantize`` and float operators in
    between, in integer form, images with their channels last. Constants must not be folded yet.

    What has no integer form stays float. Parameters and results keep their types and layouts.

    Raises
    ------
    FrontendError
        for a scale that is not positive and finite, and numbers that do not fit their tensor.
    GraphError
        for a function that is not a straight line.
    """
    mod = channels_last(without_transposed(mod, name), name)
    plan = _Plan(mod, Graph(mod, name))
    rewriter = _Rewriter(plan)
    built = replace_function(mod, name, rewriter.module(name))
    built = relax.transform.DeadCodeElimination([name])(relax.transform.FoldConstant()(built))
    return Rewritten(built, rewriter.quantizations, rewriter.origins, tuple(plan.matcher.remarks))


class _Plan:
    """What is needed of each variable: its integers (``stored``), itself (``plain``), or both.

    ``computed`` : integers of the file's own, which are made int8 where they are ``stored``.
    """

    def __init__(self, mod: IRModule, graph: Graph) -> None:
        self.graph = graph
        self.values = Values(mod, graph)
        self.matcher = Matcher(self.values)
        self.groups: dict[relax.Var, Group] = {}
        self.products: dict[relax.Var, Product] = {}  # sums that nobody quantizes
        self.stored: set[relax.Var] = set()
        self.plain: set[relax.Var] = set(vars_in(graph.output))
        self.computed: set[relax.Var] = set()
        for var in reversed(graph.order):
            self._look_at(var)

    def is_storable(self, var: relax.Var) -> bool:
        return var in self.values.views or var in self.values.stored

    def _look_at(self, var: relax.Var) -> None:
        value = self.graph.value[var]
        if var in self.stored and not self.is_storable(var):
            # What an operation makes of uint8, or by a number of the file's, is not what it makes
            # of int8.
            self.computed.add(var)
            self.plain.update(vars_in(value))
            return
        if var in self.plain and self.is_storable(var):
            self.stored.add(var)
        if var in self.stored:
            if op_name(value) == "relax.quantize":
                self._quantize(var, value)
            else:
                self.stored.update(vars_in(value))
        elif var in self.plain:
            product = self._counted(value) or self.matcher.product(var)
            if product is None:
                self.plain.update(vars_in(value))
            else:
                self.products[var] = product
                self.stored.update(_views(product))

    def _counted(self, value: relax.Expr) -> Product | None:
        """The product whose sums, of scale 1, are made int32."""
        if op_name(value) != "relax.astype" or str(value.attrs.dtype) != "int32":
            return None
        source = value.args[0]
        product = self.matcher.product(source) if isinstance(source, relax.Var) else None
        return product if product is not None and (product.scale == 1.0).all() else None

    def _quantize(self, var: relax.Var, value: relax.Call) -> None:
        group = self.matcher.group(var)
        if group is None:
            self.plain.update(vars_in(value))
        else:
            self.groups[var] = group
            self.stored.update(_views(group.core))


def _views(core: Core) -> list[relax.Var]:
    return [operand.var for operand in core.operands if operand.var is not None]


@dataclass
class _Rewriter:
    plan: _Plan
    builder: relax.BlockBuilder = field(default_factory=relax.BlockBuilder)
    quantizations: dict[str, Quantization] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    _stored: dict[relax.Var, relax.Expr] = field(default_factory=dict)
    _plain: dict[relax.Var, relax.Expr] = field(default_factory=dict)

    def module(self, name: str) -> IRModule:
        plan = self.plan
        looked_up = [
            var for var, group in plan.groups.items() if isinstance(group.core, Elementwise)
        ]
        made = tables(plan.graph, [plan.groups[var] for var in looked_up])
        self._tables = dict(zip(looked_up, made, strict=True))
        params = [relax.Var(param.name, param.ty) for param in plan.graph.params]
        self._plain.update(zip(plan.graph.params, params, strict=True))
        with self.builder.function(name, params):
            with self.builder.dataflow():
                for param in plan.graph.params:
                    if param in plan.stored:
                        self._stored[param] = self._moved_to_int8(param)
                for var in plan.graph.order:
                    if var in plan.computed:
                        value = substitute(plan.graph.value[var], self._plain)
                        self._plain[var] = self.builder.emit(value, var.name)
                        self._stored[var] = self._moved_to_int8(var)
                        continue
                    if var in plan.stored:
                        self._store(var)
                    if var in plan.plain:
                        self._plain[var] = self._as_it_was(var)
                output = self.builder.emit_output(substitute(plan.graph.output, self._plain))
            self.builder.emit_func_output(output)
        return self.builder.get()

    # ---- integers --------------------------------------------------------------------------

    def _store(self, var: relax.Var) -> None:
        value = self.plan.graph.value[var]
        name = op_name(value)
        if name == "relax.quantize":
            self._stored[var] = self._quantized(var, value)
        elif name == "relax.dequantize":
            self._stored[var] = self._stored[value.args[0]]
        else:
            self._stored[var] = self._move(var, value, self.plan.values.views.get(var))

    def _quantized(self, var: relax.Var, value: relax.Call) -> relax.Expr:
        graph = self.plan.graph
        numbers = tensor_quantization(graph, var)
        assert numbers is not None
        group = self.plan.groups.get(var)
        if group is None:
            scale = relax.const(np.float32(numbers.scale[0]))
            point = relax.const(np.int8(numbers.zero_point[0]))
            plain = substitute(value.args[0], self._plain)
            axis = int(value.attrs.axis)
            result = self.builder.emit(
                relax.op.quantize(plain, scale, point, axis, "int8"), var.name
            )
            return self._named(result, var.name, numbers)
        name = group.core.anchor.name
        inputs = [self._operand(operand) for operand in group.core.operands]
        try:
            result = Written(self.builder).core(group, inputs, self._tables.get(var), name)
        except FrontendError:
            raise
        # Operations of integers refuse scales that are too far apart.
        except ValueError as error:
            raise FrontendError(f"{name}: {error}") from error
        result = self._named(result, name, numbers)
        for move in group.moves:
            self._stored[graph.value[move].args[0]] = result
            result = self._move(move, graph.value[move], numbers)
        return result

    def _operand(self, operand) -> relax.Expr:  # type: ignore[no-untyped-def]
        return relax.const(operand.array) if operand.var is None else self._stored[operand.var]

    def _move(self, var: relax.Var, value: relax.Expr, numbers: Quantization | None) -> relax.Expr:
        """What moves elements, on integers."""
        name = op_name(value)
        point = 0 if numbers is None else numbers.zero_point[0]
        if name == "relax.nn.relu":
            source = self._stored[value.args[0]]
            if point == -128:
                return source
            moved = relax.op.maximum(source, relax.const(np.int8(point)))
        elif name == "relax.nn.pad":
            attrs = value.attrs
            widths = [int(width) for width in attrs.pad_width]
            moved = relax.op.nn.pad(self._stored[value.args[0]], widths, attrs.pad_mode, point)
        else:
            moved = substitute(value, self._stored)
        result = self.builder.emit(moved, var.name)
        return result if numbers is None else self._named(result, var.name, numbers)

    def _named(self, result: relax.Expr, origin: str, numbers: Quantization) -> relax.Expr:
        if isinstance(result, relax.Var) and result.name not in self.quantizations:
            self.quantizations[result.name] = numbers
            self.origins[result.name] = origin
        return result

    def _moved_to_int8(self, var: relax.Var) -> relax.Expr:
        """The file's integers as int8."""
        value = self._plain[var]
        shift = SHIFTS[dtype_of(var)]
        if shift == 0:
            return value
        wide = self.builder.emit(relax.op.astype(value, "int16"), f"{var.name}_int16")
        shifted = relax.op.subtract(wide, relax.const(np.int16(shift)))
        shifted = self.builder.emit(shifted, f"{var.name}_shifted")
        return self.builder.emit(relax.op.astype(shifted, "int8"), f"{var.name}_int8")

    # ---- what others see -------------------------------------------------------------------

    def _as_it_was(self, var: relax.Var) -> relax.Expr:
        values = self.plan.values
        if var in values.views:
            numbers = values.views[var]
            scale = relax.const(np.float32(numbers.scale[0]))
            point = relax.const(np.int8(numbers.zero_point[0]))
            dequantized = relax.op.dequantize(self._stored[var], scale, point)
            return self.builder.emit(dequantized, f"{var.name}_dequantized")
        if var in self._stored:
            return self._moved_to_file(var)
        if var in self.plan.products:
            return self._sums(var, self.plan.products[var])
        value = substitute(self.plan.graph.value[var], self._plain)
        return self.builder.emit(value, var.name)

    def _moved_to_file(self, var: relax.Var) -> relax.Expr:
        """The integers in the type that the file has them in."""
        value = self._stored[var]
        dtype = dtype_of(var)
        if SHIFTS[dtype] == 0:
            return value
        wide = self.builder.emit(relax.op.astype(value, "int16"), f"{var.name}_int16")
        shifted = relax.op.add(wide, relax.const(np.int16(SHIFTS[dtype])))
        shifted = self.builder.emit(shifted, f"{var.name}_shifted")
        return self.builder.emit(relax.op.astype(shifted, dtype), f"{var.name}_{dtype}")

    def _sums(self, var: relax.Var, product: Product) -> relax.Expr:
        """As int32, where that is asked for, else as floats."""
        inputs = [self._operand(operand) for operand in product.operands]
        sums = product_sums(self.builder, product, inputs, var.name)
        if dtype_of(var) == "int32":
            return sums
        real = self.builder.emit(relax.op.astype(sums, "float32"), f"{var.name}_float")
        scale = product.scale.astype(np.float32)
        scale = scale.reshape(()) if scale.size == 1 else scale
        return self.builder.emit(relax.op.multiply(real, relax.const(scale)), var.name)
