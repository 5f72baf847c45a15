"""A model in the operators that Relax's importer knows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import FrontendError
from ..shapes import fix_inputs, infer, value_shapes
from ..softmax import IntegerSoftmax
from .context import Context, argument, attributes
from .floats import constant_node, explicit_pads
from .quantized import RULES

_STANDARD = ("", "ai.onnx")
_PADDED = ("Conv", "MaxPool", "AveragePool")
_GLOBAL = ("GlobalAveragePool", "GlobalMaxPool")


class Normalized(NamedTuple):
    """softmaxes : what Identity nodes of the model are instead, by their names."""

    model: Any
    softmaxes: Mapping[str, IntegerSoftmax]


def normalize(
    path: Path, model: Any, shapes: Mapping[str, tuple[int, ...]], known: Collection[str]
) -> Normalized:
    """``model`` rewritten: quantized operators as dequantize, operator, quantize; explicit
    paddings; static shapes, all checked. ``known``: operators that there may
    be in the end.

    Raises :class:`~npu_target.frontend.FrontendError` that says which node and what to do.
    """
    opset = _opset(path, model)
    fix_inputs(path, model, shapes)
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    context = Context(str(path), graph, opset, constants)
    for node in graph.node:
        _rewrite(context, node, known)
    del graph.node[:]
    graph.node.extend(context.nodes)
    # What is inferred anew; and the types of quantized operators' former inputs.
    del graph.value_info[:]
    del model.opset_import[:]
    entry = model.opset_import.add()
    # Scales for each channel are since version 13.
    entry.domain, entry.version = "", max(opset, 13) if _per_channel(context) else opset
    inferred = infer(path, model)
    found = value_shapes(inferred)
    for node in inferred.graph.node:
        if node.op_type in _PADDED:
            explicit_pads(node, found)
            _check_window(context, node)
        elif node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            _check_quantization(context, node, found)
        elif node.op_type in _GLOBAL:
            _check_image(context, node, found)
    return Normalized(inferred, context.softmaxes)


def _opset(path: Path, model: Any) -> int:
    import onnx

    versions = [entry.version for entry in model.opset_import if entry.domain in _STANDARD]
    newest = onnx.defs.onnx_opset_version()
    if len(versions) != 1 or not 7 <= versions[0] <= newest:
        text = ", ".join(map(str, versions)) or "none"
        raise FrontendError(
            f"{path}: opset {text}; from 7 to {newest} are known "
            "(onnx.version_converter converts to another)"
        )
    return int(versions[0])


def _rewrite(context: Context, node: Any, known: Collection[str]) -> None:
    domain = "" if node.domain in _STANDARD else node.domain
    if not node.output or not node.output[0]:
        raise FrontendError(f"{context.place(node)}: it has no result")
    _check_attributes(context, node)
    if (domain, node.op_type) in RULES:
        rule, least = RULES[domain, node.op_type]
        if len(node.input) < least:
            raise FrontendError(
                f"{context.place(node)}: it has {len(node.input)} inputs, {least} are needed"
            )
        try:
            rule(context, node)
        except FrontendError:
            raise
        # NumPy, of scales and biases of wrong shapes, and ONNX of attributes.
        except ValueError as error:
            raise FrontendError(f"{context.place(node)}: its inputs are wrong: {error}") from error
        return
    if domain == "" and node.op_type == "Constant" and constant_node(context, node):
        return
    if domain or node.op_type not in known:
        of = f" of domain {domain!r}" if domain else ""
        raise FrontendError(
            f"{context.place(node)}, number {len(context.nodes)}: an operator{of} that is not "
            "known here; simplify the model (onnxsim), or export without it"
        )
    context.nodes.append(node)


def _check_attributes(context: Context, node: Any) -> None:
    """Of the types that ONNX says; of quantized operators of others, those of the float one."""
    import onnx

    if any(item.HasField("g") or item.graphs for item in node.attribute):
        raise FrontendError(
            f"{context.place(node)}: control flow is not supported; export without it"
        )
    name = node.op_type if onnx.defs.has(node.op_type) else node.op_type.removeprefix("QLinear")
    name = name if onnx.defs.has(name) else name.removeprefix("Q")
    if not onnx.defs.has(name):
        return
    wanted = onnx.defs.get_schema(name).attributes
    for item in node.attribute:
        if item.name in wanted and item.type != wanted[item.name].type.value:
            needed = wanted[item.name].type.name
            raise FrontendError(f"{context.place(node)}: {item.name} must be of type {needed}")


def _per_channel(context: Context) -> bool:
    return any(
        node.op_type == "DequantizeLinear"
        and (scale := context.array(node.input[1])) is not None
        and scale.size > 1
        for node in context.nodes
    )


def _check_window(context: Context, node: Any) -> None:
    given = attributes(node)
    for name, least in (("strides", 1), ("dilations", 1), ("kernel_shape", 1), ("pads", 0)):
        if any(not least <= number < 2**16 for number in given.get(name, [])):
            raise FrontendError(f"{context.place(node)}: {name} cannot be {given[name]}")
    if given.get("group", 1) < 1:
        raise FrontendError(f"{context.place(node)}: group cannot be {given['group']}")


def _check_image(context: Context, node: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    shape = shapes.get(node.input[0])
    if shape is not None and len(shape) < 3:
        raise FrontendError(
            f"{context.place(node)}: images of batch, channels and extents are needed, "
            f"{node.input[0]!r} is of shape {list(shape)}"
        )


def _check_quantization(context: Context, node: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    place, scale = context.place(node), context.array(node.input[1])
    if scale is None:
        return
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        wrong = scale[~(np.isfinite(scale) & (scale > 0))].reshape(-1)[0]
        raise FrontendError(
            f"{place}: its scale {node.input[1]!r} must be positive and finite, it is {wrong}"
        )
    point = context.array(argument(node, 2))
    if point is not None and point.size != scale.size:
        raise FrontendError(f"{place}: {scale.size} scales and {point.size} zero points")
    shape = shapes.get(node.input[0])
    if scale.size > 1 and shape is not None:
        axis = attributes(node).get("axis", 1)
        if not -len(shape) <= axis < len(shape) or shape[axis] != scale.size:
            raise FrontendError(
                f"{place}: {scale.size} scales do not belong to axis {axis} of shape {list(shape)}"
            )
