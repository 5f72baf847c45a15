"""Averages of whole channels of images."""

from __future__ import annotations

import math

from tvm import relax

from ..relax_graph import attr_ints, op_name, shape_of


def is_image_average(name: str, call: relax.Call) -> bool:
    """Whether the call averages each whole channel of a four-dimensional image."""
    if not name.startswith("relax.nn.") and name != "relax.mean":
        return False
    if not isinstance(call.args[0], relax.Var) or len(shape_of(call.args[0])) != 4:
        return False
    if name == "relax.mean":
        return call.attrs.axis is not None and sorted(
            axis % 4 for axis in attr_ints(call.attrs.axis)
        ) in ([1, 2], [2, 3])
    if name not in ("relax.nn.adaptive_avg_pool2d", "relax.nn.avg_pool2d"):
        return False
    layout = str(call.attrs.layout)
    if layout not in ("NHWC", "NCHW") or str(call.attrs.out_layout) != layout:
        return False
    image = [shape_of(call.args[0])[layout.find(axis)] for axis in "HW"]
    output = [int(call.ty.shape[layout.find(axis)]) for axis in "HW"]
    if math.prod(output) != 1:
        return False
    if name == "relax.nn.adaptive_avg_pool2d":
        return True
    unpadded = not any(attr_ints(call.attrs.padding))
    return unpadded and list(attr_ints(call.attrs.pool_size)) == image


def average_axes(call: relax.Call) -> tuple[tuple[int, int], bool]:
    """(axes, keepdims) of a call that :func:`is_image_average`."""
    if op_name(call) == "relax.mean":
        first, second = sorted(axis % 4 for axis in attr_ints(call.attrs.axis))
        return (first, second), bool(call.attrs.keepdims)
    layout = str(call.attrs.layout)
    return (layout.find("H"), layout.find("W")), True
