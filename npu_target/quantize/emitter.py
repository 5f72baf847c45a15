"""The integer function: each step of a plan with its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ..device.requantize import RequantizeRule
from ..device.scale_rule import float_to_int8
from ..integer import emit
from ..relax_graph import Graph, op_name, shape_of, substitute, vars_in
from . import integer_ops
from .averages import average_axes
from .calibrate import INT8_LIMIT, Method, QuantizeError, RangeObserver, power_of_two_from
from .multipliers import integer_factor, integer_multipliers
from .plan import Kind, Step
from .tables import IDENTITY, TableMaker, rescaled

# An accumulator must hold the bias and the products beside it.
_BIAS_LIMIT = 2**30


@dataclass(frozen=True)
class QuantizeOptions:
    """``activations`` and ``weights`` choose thresholds; ``keep_float`` names bindings of the
    float function that must not become integer.

    Of a weight all values are known, so that clipping a few pays. Of activations a handful of
    calibration inputs shows a part, and ranges that were clipped to it saturate on other inputs.
    """

    activations: Method = Method.MINMAX
    weights: Method = Method.MSE
    keep_float: frozenset[str] = frozenset()


@dataclass
class Emitter:
    """Emits the integer function. A value exists in float, in int8, or (once asked for) both."""

    graph: Graph
    scales: dict[relax.Var, float]
    options: QuantizeOptions
    rule: RequantizeRule
    parameters: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    _builder: relax.BlockBuilder = field(default_factory=relax.BlockBuilder)
    _float: dict[relax.Var, relax.Expr] = field(default_factory=dict)
    _int8: dict[relax.Var, relax.Expr] = field(default_factory=dict)
    _labels: dict[relax.Var, str] = field(default_factory=dict)  # a value's name: its operation's

    def __post_init__(self) -> None:
        self._tables = TableMaker(self.graph)

    def module(self, steps: Sequence[Step]) -> IRModule:
        """The function, and those that it calls."""
        params = [relax.Var(param.name, param.ty) for param in self.graph.params]
        self._float.update(zip(self.graph.params, params, strict=True))
        with self._builder.function(self.graph.name, params):
            with self._builder.dataflow():
                for step in steps:
                    self._labels[step.root] = step.anchor.name
                    if step.kind is Kind.FLOAT:
                        self._emit_float(step)
                    else:
                        self._int8[step.root] = self._emit_integer(step)
                for var in vars_in(self.graph.output):
                    self._as_float(var)
                output = self._builder.emit_output(substitute(self.graph.output, self._float))
            self._builder.emit_func_output(output)
        return self._builder.get()

    def tensor_scales(self) -> dict[str, float]:
        """The scale of every tensor that is int8, by the name of the operation it comes from."""
        return {self._labels.get(var, var.name): self.scales[var] for var in self._int8}

    def variables(self) -> dict[str, tuple[str, str]]:
        """Those of every tensor that is int8, by the name of the operation it comes from."""
        return {
            self._labels.get(var, var.name): (var.name, value.name)
            for var, value in self._int8.items()
        }

    def _emit_float(self, step: Step) -> None:
        for var in step.inputs:
            self._as_float(var)
        value = substitute(self.graph.value[step.anchor], self._float)
        self._float[step.root] = self._builder.emit(value, step.anchor.name)

    def _as_float(self, var: relax.Var) -> relax.Expr:
        if var not in self._float:
            label, scale = self._labels.get(var, var.name), self.scales[var]
            self._record(f"dequantize_{label}", scale=np.float32(scale))
            self._float[var] = integer_ops.to_float(self._builder, self._int8[var], scale, label)
        return self._float[var]

    def _as_int8(self, var: relax.Var) -> relax.Expr:
        if var not in self._int8:
            scale = np.float32(1.0 / self.scales[var])
            label = self._labels.get(var, var.name)
            self._record(f"quantize_{label}", scale=scale)
            self._int8[var] = float_to_int8(
                self._builder, self._float[var], float(scale), f"{label}_quantized"
            )
        return self._int8[var]

    def _emit_integer(self, step: Step) -> relax.Expr:
        for var in step.inputs:
            self._as_int8(var)
        if step.kind is Kind.SAME_SCALE:
            return self._emit_same_scale(step)
        if step.kind is Kind.JOIN:
            return self._emit_join(step)
        if step.kind is Kind.TABLE:
            return self._emit_table(step)
        if step.kind is Kind.MULTIPLY:
            return self._emit_multiply(step)
        name = step.anchor.name
        if step.kind is Kind.ADD:
            result = self._emit_add(step)
        elif step.kind is Kind.AVERAGE:
            result = self._emit_average(step)
        else:
            result = self._emit_product(step)
        return result if step.relu is None else self._relu(result, step.relu, step.root, name)

    def _relu(self, value: relax.Expr, cut: float, root: relax.Var, name: str) -> relax.Expr:
        """ReLU. int8 saturates where the range of the values ends, which is that after the cut,
        unless scales are powers of two."""
        value = integer_ops.relu(self._builder, value, name)
        steps = cut / self.scales[root]
        if not self.rule.powers_of_two or steps >= INT8_LIMIT:
            return value
        return integer_ops.cut_off(self._builder, value, round(steps), name)

    def _emit_same_scale(self, step: Step) -> relax.Expr:
        self.scales[step.root] = self.scales[step.inputs[0]]
        call = self.graph.value[step.anchor]
        if op_name(call) == "relax.nn.relu":
            return integer_ops.relu(self._builder, self._int8[step.inputs[0]], step.anchor.name)
        values = {**self._float, **{var: self._int8[var] for var in step.inputs}}
        return self._builder.emit(substitute(call, values), step.anchor.name)

    def _emit_join(self, step: Step) -> relax.Expr:
        name, call, scale = step.anchor.name, self.graph.value[step.anchor], self.scales[step.root]
        values = {var: self._at_scale(var, scale, name) for var in step.inputs}
        if op_name(call) != "relax.nn.pad":
            return self._builder.emit(substitute(call, values), name)
        number = quantize_array(np.float64(call.attrs.pad_value), scale)
        (value,) = values.values()
        widths = [int(width) for width in call.attrs.pad_width]
        padded = relax.op.nn.pad(value, widths, pad_value=int(number), pad_mode="constant")
        return self._builder.emit(padded, name)

    def _at_scale(self, var: relax.Var, scale: float, name: str) -> relax.Expr:
        """A value in int8 steps of another scale."""
        value = self._int8[var]
        if self.scales[var] == scale:
            return value
        return emit(self._builder, rescaled(self.scales[var], scale), [value], f"{name}_rescaled")

    def _emit_table(self, step: Step) -> relax.Expr:
        assert step.function is not None
        name, (source,) = step.anchor.name, step.inputs
        table = self._tables.of(step.function, self.scales[source], self.scales[step.root])
        self._record(name, table=np.array(table.values, np.int8))
        if table == IDENTITY:  # multiplied by a number: the same steps, worth more or less
            return self._int8[source]
        return emit(self._builder, table, [self._int8[source]], name)

    def _emit_multiply(self, step: Step) -> relax.Expr:
        name = step.anchor.name
        left, right = (self.scales[var] for var in step.inputs)
        scale = np.float32(left * right / self.scales[step.root])
        if self.rule.refusal(float(scale)) is not None:
            self._emit_float(step)
            return self._as_int8(step.root)
        self._record(name, scale=scale)
        operands = [self._int8[var] for var in step.inputs]
        result = integer_ops.tensor_product(self._builder, operands, name)
        return self.rule.emit(self._builder, result, float(scale), name)

    def _emit_product(self, step: Step) -> relax.Expr:
        name, call = step.anchor.name, self.graph.value[step.anchor]
        left = self._int8[step.inputs[0]]
        input_scale = self.scales[step.inputs[0]]
        numbers: dict[str, np.ndarray] = {}
        if step.weight is None:
            weight_scale, right = self.scales[step.inputs[1]], self._int8[step.inputs[1]]
        else:
            weight_scale = self._weight_scale(step, step.weight, input_scale)
            numbers["weight"] = quantize_array(step.weight, weight_scale)
            right = relax.const(numbers["weight"])
        sum_scale = input_scale * weight_scale
        result = integer_ops.product(self._builder, call, left, right, name)
        if step.bias is not None:
            bias = np.rint(step.bias.astype("float64") / sum_scale).astype("int32")
            numbers["bias"] = bias.reshape(-1)
            result = self._builder.emit(relax.op.add(result, relax.const(bias)), f"{name}_biased")
        scale = np.float32(sum_scale / self.scales[step.root])
        self._record(name, **numbers, scale=scale)
        self._check(scale, name)
        return self.rule.emit(self._builder, result, float(scale), name)

    def _weight_scale(self, step: Step, weight: np.ndarray, input_scale: float) -> float:
        """The weights' scale, coarse enough for the bias to fit beside the products."""
        observer = RangeObserver(f"the weight of {step.anchor.name}")
        observer.update(weight)
        scale = observer.scale(self.options.weights, self.rule.powers_of_two)
        # Not so fine that the sums would have to be scaled by less than the device can.
        scale = max(scale, self.rule.least_scale * self.scales[step.root] / input_scale)
        if step.bias is None:
            return scale
        largest = float(np.abs(step.bias).max(initial=0.0))
        if not np.isfinite(largest):
            raise QuantizeError(f"the bias of {step.anchor.name} is not finite; check the weights")
        least = largest / (input_scale * _BIAS_LIMIT)
        if scale >= least:
            return scale
        return power_of_two_from(least) if self.rule.powers_of_two else least

    def _emit_add(self, step: Step) -> relax.Expr:
        name = step.anchor.name
        left, right = (self.scales[var] for var in step.inputs)
        by = integer_multipliers(left, right, self.rule.powers_of_two)
        scale = np.float32(by.scale / self.scales[step.root])
        subtracts = op_name(self.graph.value[step.anchor]) == "relax.subtract"
        factors = (by.a, -by.b if subtracts else by.b)
        multipliers = {"multiplier_a": np.int32(factors[0]), "multiplier_b": np.int32(factors[1])}
        self._record(name, **multipliers, scale=scale)
        operands = [(self._int8[var], m) for var, m in zip(step.inputs, factors, strict=True)]
        self._check(scale, name)
        total = integer_ops.residual_add(self._builder, operands, 0, name)
        return self.rule.emit(self._builder, total, float(scale), name)

    def _emit_average(self, step: Step) -> relax.Expr:
        name, (value,) = step.anchor.name, step.inputs
        axes, keepdims = average_axes(self.graph.value[step.anchor])
        pixels = shape_of(value)[axes[0]] * shape_of(value)[axes[1]]
        factor, scale = 1, np.float32(self.scales[value] / pixels / self.scales[step.root])
        if self.rule.powers_of_two:
            factor, power = integer_factor(float(scale))
            scale = np.float32(power)
        self._check(scale, name)
        self._record(name, factor=np.int32(factor), scale=scale)
        total = integer_ops.image_sum(self._builder, self._int8[value], axes, factor, name)
        result = self.rule.emit(self._builder, total, float(scale), name)
        if keepdims:
            return result
        shape = shape_of(step.anchor)
        return self._builder.emit(relax.op.reshape(result, shape), f"{name}_reshaped")

    def _check(self, scale: np.float32, name: str) -> None:
        reason = self.rule.refusal(float(scale))
        if reason is not None:
            raise QuantizeError(f"{name}: {reason}; leave it in float (keep_float)")

    def _record(self, name: str, **numbers: np.ndarray | np.number) -> None:
        self.parameters[name] = {key: np.asarray(value) for key, value in numbers.items()}


def quantize_array(values: np.ndarray, scale: float) -> np.ndarray:
    """``values`` in int8 steps of ``scale``, rounded half to even, within +-127."""
    return np.clip(np.rint(values / np.float64(scale)), -INT8_LIMIT, INT8_LIMIT).astype("int8")
