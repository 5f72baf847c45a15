"""Groups as operations of integer networks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import relax

from ...integer import LinearAdd, Quantization, Requantize, Table, emit
from ...integer.table import int8_values
from ...relax_graph import shape_of
from .groups import Add, Average, Concat, Elementwise, Group, Multiply, Product
from .sums import average_sums, centred, product_sums


@dataclass(frozen=True)
class Written:
    """Emits one group after the other; ``inputs`` of each are the int8 of its operands."""

    builder: relax.BlockBuilder

    def core(
        self, group: Group, inputs: list[relax.Expr], table: tuple[int, ...] | None, name: str
    ) -> relax.Expr:
        """int8: the group's result before its moves."""
        core = group.core
        if isinstance(core, Product):
            sums = product_sums(self.builder, core, inputs, name)
            return self._requantized(group, sums, core.scale, name)
        if isinstance(core, Average):
            return self._average(group, core, inputs[0], name)
        if isinstance(core, Multiply):
            return self._multiplied(group, core, inputs, name)
        if isinstance(core, Add):
            return self._sum(group, core, inputs, name)
        if isinstance(core, Concat):
            return self._concat(group, core, inputs, name)
        assert isinstance(core, Elementwise) and table is not None
        return self._looked_up(inputs[0], table, name)

    def _requantized(
        self, group: Group, sums: relax.Expr, scale: np.ndarray, name: str
    ) -> relax.Expr:
        """``scale``: of the sums, float32."""
        quotients = scale.astype(np.float32) / np.float32(group.numbers.scale[0])
        return emit(self.builder, requantize(quotients, group), [sums], name)

    def _average(self, group: Group, core: Average, value: relax.Expr, name: str) -> relax.Expr:
        (operand,) = core.operands
        sums, count = average_sums(self.builder, core, value, name)
        # As ONNX Runtime's QLinearGlobalAveragePool: one division in float32.
        divisor = np.float32(group.numbers.scale[0]) * np.float32(count)
        operation = requantize(np.array([operand.scale / divisor]), group)
        result = emit(self.builder, operation, [sums], name)
        if core.keepdims:
            return result
        return self.builder.emit(relax.op.squeeze(result, list(core.axes)), f"{name}_squeezed")

    def _multiplied(
        self, group: Group, core: Multiply, inputs: list[relax.Expr], name: str
    ) -> relax.Expr:
        factors = [
            centred(self.builder, operand, value, f"{name}_{side}")
            for operand, value, side in zip(core.operands, inputs, "ab", strict=True)
        ]
        products = self.builder.emit(relax.op.multiply(*factors), f"{name}_products")
        left, right = (operand.scale for operand in core.operands)
        return self._requantized(group, products, np.array([left * right]), name)

    def _sum(self, group: Group, core: Add, inputs: list[relax.Expr], name: str) -> relax.Expr:
        left, right = core.operands
        sign = -1.0 if core.subtract else 1.0
        operation = LinearAdd(
            (float(left.scale), sign * float(right.scale), group.numbers.scale[0]),
            (left.zero_point, right.zero_point, group.numbers.zero_point[0]),
            group.low,
            group.high,
            group.unsigned,
        )
        shape = tuple(np.broadcast_shapes(*map(shape_of, inputs)))
        wide = [
            value
            if shape_of(value) == shape
            else self.builder.emit(relax.op.broadcast_to(value, shape), f"{name}_{side}")
            for value, side in zip(inputs, "ab", strict=True)
        ]
        return emit(self.builder, operation, wide, name)

    def _concat(
        self, group: Group, core: Concat, inputs: list[relax.Expr], name: str
    ) -> relax.Expr:
        parts = []
        for index, (operand, value) in enumerate(zip(core.operands, inputs, strict=True)):
            table = rescaled(operand.numbers, group)
            parts.append(self._looked_up(value, table, f"{name}_{index}"))
        return self.builder.emit(relax.op.concat(parts, core.axis), name)

    def _looked_up(self, value: relax.Expr, table: tuple[int, ...], name: str) -> relax.Expr:
        same = int8_values().tolist()
        if list(table) == same:
            return value
        for low, high in ((table[0], 127), (-128, table[-1]), (table[0], table[-1])):
            if list(table) == np.clip(same, low, high).tolist():
                return self._bounded(value, low, high, name)
        return emit(self.builder, Table(table), [value], name)

    def _bounded(self, value: relax.Expr, low: int, high: int, name: str) -> relax.Expr:
        if low > -128:
            value = self.builder.emit(relax.op.maximum(value, relax.const(np.int8(low))), name)
        if high < 127:
            value = self.builder.emit(relax.op.minimum(value, relax.const(np.int8(high))), name)
        return value


def requantize(scale: np.ndarray, group: Group) -> Requantize:
    """To the group's numbers; ``scale``: quotients in float32."""
    zero_point = group.numbers.zero_point[0]
    rule = "float32" if zero_point == 0 else "float32_zp"
    scales = tuple(float(number) for number in scale.astype(np.float32).reshape(-1))
    if len(set(scales)) == 1:
        scales = scales[:1]
    return Requantize(rule, scales, zero_point, group.low, group.high)


def rescaled(numbers: Quantization, group: Group) -> tuple[int, ...]:
    """What becomes of each int8 of ``numbers`` in those of a group."""
    real = (int8_values().astype(np.int32) - numbers.zero_point[0]).astype(np.float32)
    real = real * np.float32(numbers.scale[0])
    steps = np.rint(real / np.float32(group.numbers.scale[0])) + group.numbers.zero_point[0]
    return tuple(int(step) for step in np.clip(steps, group.low, group.high))
