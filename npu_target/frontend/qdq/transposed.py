"""Transposed convolutions of quantized weights as convolutions of all phases of their outputs,
which have an integer form."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ...decompose.one_dimension import convolution_of_image
from ...decompose.rewriting import Replacement, Values, rewritten
from ...decompose.transposed_convolution import TransposedConvolution
from ...relax_graph import Graph, op_name, shape_of, substitute
from .constants import Constant, constant


def without_transposed(mod: IRModule, name: str = "main") -> IRModule:
    """Function ``name`` with each transposed convolution of constant integers, with its bias, as a
    convolution of them; the integers stay what they were."""
    return rewritten(rewritten(mod, (_line_as_image,), name), (_rewrite,), name)


def _line_as_image(graph: Graph, var: relax.Var) -> Replacement | None:
    """conv1d_transpose as that of an image of one line."""
    call = graph.value[var]
    if op_name(call) != "relax.nn.conv1d_transpose":
        return None
    attrs, layout = call.attrs, str(call.attrs.data_layout)
    weight = constant(graph, call.args[1])
    if weight is None or weight.scale is None or str(attrs.out_layout) != layout:
        return None
    added = _bias(graph, var, layout.find("C"))
    root = var if added is None else added[0]
    image_layout = layout.replace("W", "HW")
    height, kernel_height = (text.find("W") for text in (layout, str(attrs.kernel_layout)))

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        line, kernel = (substitute(arg, values) for arg in call.args)
        image = convolution_of_image(
            call,
            builder.emit(relax.op.expand_dims(line, height)),
            builder.emit(relax.op.expand_dims(kernel, kernel_height)),
            image_layout,
        )
        result = builder.emit(image, var.name)
        if added is not None:
            (bias,) = (arg for arg in graph.value[root].args if not arg.same_as(var))
            along_channels = [1] * 4
            along_channels[image_layout.find("C")] = -1
            bias = builder.emit(relax.op.reshape(substitute(bias, values), along_channels))
            result = builder.emit(relax.op.add(result, bias), root.name)
        return builder.emit(relax.op.squeeze(result, [height]), root.name)

    return Replacement(root, frozenset({var, root}), emit)


def _rewrite(graph: Graph, var: relax.Var) -> Replacement | None:
    call = graph.value[var]
    if op_name(call) != "relax.nn.conv2d_transpose":
        return None
    weight = constant(graph, call.args[1])
    if weight is None or weight.scale is None or weight.zero_point is None:
        return None
    if weight.zero_point.size != 1 and weight.zero_point.any():
        return None  # no one integer stands for 0
    scale = _per_channel(weight.scale, str(call.attrs.kernel_layout).find("O"))
    nothing = int(weight.zero_point.reshape(-1)[0])
    found = TransposedConvolution.at(graph, var, weight.values, nothing)
    if found is None or scale is None:
        return None
    axis = found.layout.find("C")
    added = _bias(graph, var, axis)
    root = var if added is None else added[0]
    groups = int(call.attrs.groups)
    scales = found.of_phases(np.tile(scale, groups)) if scale.size > 1 else scale.reshape(())

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        def behind(result: relax.Expr) -> relax.Expr:
            if added is None:
                return result
            bias = added[1]
            numbers = found.of_phases(bias.values)
            if bias.scale is None:
                return builder.emit(relax.op.add(result, relax.const(numbers)), root.name)
            steps = np.broadcast_to(bias.scale.reshape(-1), bias.values.shape)
            real = _dequantized(builder, numbers, found.of_phases(steps), 0, 0)
            return builder.emit(relax.op.add(result, real), root.name)

        weights = _dequantized(builder, found.phases, scales, nothing, 3)
        return found.emit(builder, values, weights, behind)

    return Replacement(root, frozenset({var, root}), emit)


def _per_channel(scale: np.ndarray, axis: int) -> np.ndarray | None:
    """One number, or one for each index of ``axis``; None where they differ along another."""
    if scale.size == 1:
        return scale.reshape(1)
    rows = np.moveaxis(scale, axis, -1).reshape(-1, scale.shape[axis])
    return rows[0] if (rows == rows[0]).all() else None


def _bias(graph: Graph, var: relax.Var, axis: int) -> tuple[relax.Var, Constant] | None:
    """What is added to ``var`` and to nothing else: (the sum, one number for each channel)."""
    user = graph.sole_user(var)
    if user is None or op_name(graph.value[user]) != "relax.add":
        return None
    if shape_of(user) != shape_of(var):
        return None
    for argument in graph.value[user].args:
        if argument.same_as(var):
            continue
        bias = constant(graph, argument)
        if bias is None or (bias.zero_point is not None and bias.zero_point.any()):
            return None
        rank, channels = len(shape_of(var)), shape_of(var)[axis]
        full = (1,) * (rank - bias.values.ndim) + bias.values.shape
        if full[axis] != channels or bias.values.size != channels:
            return None
        return user, bias.reshaped((channels,))
    return None


def _dequantized(
    builder: relax.BlockBuilder, integers: np.ndarray, scale: np.ndarray, point: int, axis: int
) -> relax.Expr:
    points = np.full(scale.shape, point, integers.dtype)
    constants = (relax.const(np.ascontiguousarray(each)) for each in (integers, scale, points))
    return builder.emit(relax.op.dequantize(*constants, axis))
