"""Float operators in forms that Relax has operators for."""

from __future__ import annotations

from typing import Any

from .context import Context, argument, attributes


def constant_node(context: Context, node: Any) -> bool:
    """A constant tensor becomes an initializer."""
    value = attributes(node).get("value")
    if value is None:
        return False
    tensor = type(value)()
    tensor.CopyFrom(value)
    tensor.name = node.output[0]
    context.graph.initializer.append(tensor)
    context.constants[tensor.name] = tensor
    return True


def explicit_pads(node: Any, shapes: dict[str, tuple[int, ...]]) -> None:
    """``auto_pad`` of a convolution or pool as ``pads``, in place, where its input's shape is
    known."""
    from onnx import helper

    given = attributes(node)
    mode = given.get("auto_pad", b"NOTSET").decode("ascii", "replace")
    shape = shapes.get(node.input[0])
    kernel = given.get("kernel_shape") or shapes.get(argument(node, 1), ())[2:]
    if mode not in ("SAME_UPPER", "SAME_LOWER", "VALID") or shape is None or not kernel:
        return
    rank = len(shape) - 2
    strides = given.get("strides") or [1] * rank
    dilations = given.get("dilations") or [1] * rank
    begins, ends = [], []
    for extent, size, stride, dilation in zip(shape[2:], kernel, strides, dilations, strict=True):
        covered = dilation * (size - 1) + 1
        total = max((-(-extent // stride) - 1) * stride + covered - extent, 0)
        total = 0 if mode == "VALID" else total
        more, less = total - total // 2, total // 2
        begins.append(more if mode == "SAME_LOWER" else less)
        ends.append(less if mode == "SAME_LOWER" else more)
    kept = [item for item in node.attribute if item.name not in ("auto_pad", "pads")]
    del node.attribute[:]
    node.attribute.extend(kept)
    node.attribute.append(helper.make_attribute("pads", [*begins, *ends]))
