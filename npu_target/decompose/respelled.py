"""A conv2d like another one."""

from __future__ import annotations

from typing import Any

from tvm import relax


def convolution(
    call: relax.Call, image: relax.Expr, weight: relax.Expr, **changed: Any
) -> relax.Call:
    """``call`` of another image and other weights, with some attributes changed."""
    attrs = call.attrs
    attributes = {
        "strides": list(attrs.strides),
        "padding": list(attrs.padding),
        "dilation": list(attrs.dilation),
        "groups": attrs.groups,
        "data_layout": attrs.data_layout,
        "kernel_layout": attrs.kernel_layout,
        "out_layout": attrs.out_layout,
        "out_dtype": str(call.ty.dtype.dtype),
    }
    return relax.op.nn.conv2d(image, weight, **{**attributes, **changed})
