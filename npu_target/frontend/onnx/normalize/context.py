"""What the rewriting of one node needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import FrontendError
from ..softmax import IntegerSoftmax


@dataclass
class Context:
    """A model being rewritten.

    constants : its initializers by name, as ``TensorProto``.
    nodes : those written so far.
    softmaxes : what Identity nodes of int8 are, by their names.
    """

    path: str
    graph: Any
    opset: int
    constants: dict[str, Any]
    nodes: list[Any] = field(default_factory=list)
    softmaxes: dict[str, IntegerSoftmax] = field(default_factory=dict)
    _count: int = 0

    def place(self, node: Any) -> str:
        """Where a node is, for messages."""
        name = node.name or (node.output[0] if node.output else "?")
        return f"{self.path}: node {name!r} ({node.op_type})"

    def array(self, name: str) -> np.ndarray | None:
        """The value of a constant."""
        from onnx import numpy_helper

        return numpy_helper.to_array(self.constants[name]) if name in self.constants else None

    def number(self, node: Any, index: int) -> np.ndarray:
        """A scale or zero point, which must be constant."""
        name = argument(node, index)
        value = self.array(name)
        if value is None:
            raise FrontendError(
                f"{self.place(node)}: {name!r}, a scale or zero point, is computed at run time; "
                "quantize statically (onnxruntime.quantization.quantize_static)"
            )
        return value

    def constant(self, array: np.ndarray, name: str) -> str:
        """The name of a new constant."""
        from onnx import numpy_helper

        name = self.fresh(name)
        tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        self.graph.initializer.append(tensor)
        self.constants[name] = tensor
        return name

    def fresh(self, name: str) -> str:
        self._count += 1
        return f"{name}__{self._count}"

    def add(
        self, op_type: str, inputs: list[str], output: str, name: str, **attributes: Any
    ) -> str:
        """Write a node of the default domain; its output."""
        from onnx import helper

        self.nodes.append(helper.make_node(op_type, inputs, [output], name, **attributes))
        return output

    def dequantized(self, value: str, scale: str, zero_point: str, axis: int = 1) -> str:
        inputs = [value, scale, zero_point] if zero_point else [value, scale]
        output = self.fresh(f"{value}_real")
        return self.add("DequantizeLinear", inputs, output, output, axis=axis)

    def quantized(self, node: Any, value: str, scale: str, zero_point: str) -> None:
        """The node's own output."""
        inputs = [value, scale, zero_point] if zero_point else [value, scale]
        self.add("QuantizeLinear", inputs, node.output[0], f"{node.name}_quantized")


def argument(node: Any, index: int) -> str:
    """The name of an input, "" for one that is left out."""
    return node.input[index] if index < len(node.input) else ""


def attributes(node: Any) -> dict[str, Any]:
    """A node's attributes as Python values."""
    from onnx import helper

    return {item.name: helper.get_attribute_value(item) for item in node.attribute}
