"""A transposed convolution as one convolution that gives all phases of its output.

Output pixel ``s * q + r`` of a stride ``s`` takes only every ``s``-th position of the kernel, from
``r`` on. So each of the ``s`` phases is a convolution of the image itself, of ``ceil(k / s)``
positions, and all of them together are one, with as many more output channels. Zeros between the
pixels of the image would be multiplied by the whole kernel instead.
"""

from __future__ import annotations

import numpy as np
from tvm import relax

from ..relax_graph import Graph, attr_ints, constant_of, dtype_of, op_name, shape_of, substitute
from .chain import Chain
from .moves import cropped, permuted, reshaped
from .rewriting import Replacement, Values


def rewrite_transposed_convolution(graph: Graph, var: relax.Var) -> Replacement | None:
    """conv2d_transpose of constant weights, in any layout, with what follows it."""
    call = graph.value[var]
    if op_name(call) != "relax.nn.conv2d_transpose":
        return None
    attrs, weight = call.attrs, constant_of(call.args[1])
    layout, kernel_layout = str(attrs.data_layout), str(attrs.kernel_layout)
    if weight is None or str(attrs.out_layout) != layout or sorted(layout) != sorted("NHWC"):
        return None
    kernel = weight.transpose([kernel_layout.find(axis) for axis in "HWIO"])
    kernel = with_zeros_between(kernel, attr_ints(attrs.dilation))
    groups, strides = int(attrs.groups), attr_ints(attrs.strides)
    top, left, _, _ = attr_ints(attrs.padding)
    chain = Chain.after(graph, var, layout.find("C"))
    n, out_h, out_w, co = (shape_of(var)[layout.find(axis)] for axis in "NHWC")
    phases = _phases(kernel, strides, groups)
    # As many positions before the image as the kernel reaches back, behind it as outputs ask for.
    image = [shape_of(call.args[0])[layout.find(axis)] for axis in "HW"]
    before = [extent - 1 for extent in phases.shape[:2]]
    wanted = [
        -(-(start + extent) // stride)
        for start, extent, stride in zip((top, left), (out_h, out_w), strides, strict=True)
    ]
    behind = [max(0, total - extent) for total, extent in zip(wanted, image, strict=True)]
    per_group = co // groups

    def of_phases(numbers: np.ndarray) -> np.ndarray:
        tiled = numbers.reshape(groups, 1, 1, per_group)
        return np.broadcast_to(tiled, (groups, *strides, per_group)).reshape(-1)

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        source = substitute(call.args[0], values)
        source = permuted(builder, source, [layout.find(axis) for axis in "NHWC"], var.name)
        result = builder.emit(
            relax.op.nn.conv2d(
                source,
                relax.const(phases),
                padding=[*before, *behind],
                groups=groups,
                data_layout="NHWC",
                kernel_layout="HWIO",
                out_dtype=dtype_of(var),
            ),
            var.name,
        )
        result = chain.emit(builder, result, of_phases)
        _, lines, pixels, _ = shape_of(result)
        sh, sw = strides
        apart = (n, lines, pixels, groups, sh, sw, per_group)
        result = reshaped(builder, result, apart, var.name)
        result = permuted(builder, result, (0, 1, 4, 2, 5, 3, 6), var.name)
        result = reshaped(builder, result, (n, lines * sh, pixels * sw, co), var.name)
        result = cropped(builder, result, (0, top, left, 0), (n, out_h, out_w, co), var.name)
        return permuted(builder, result, ["NHWC".find(axis) for axis in layout], var.name)

    return Replacement(chain.root, chain.interior, emit)


def with_zeros_between(kernel: np.ndarray, dilation: tuple[int, ...]) -> np.ndarray:
    """A kernel ``[kh, kw, ...]`` in which neighbouring positions are a dilation apart."""
    extents = [(size - 1) * by + 1 for size, by in zip(kernel.shape, dilation, strict=False)]
    wide = np.zeros((*extents, *kernel.shape[2:]), kernel.dtype)
    wide[:: dilation[0], :: dilation[1]] = kernel
    return wide


def _phases(kernel: np.ndarray, strides: tuple[int, ...], groups: int) -> np.ndarray:
    """A kernel ``[kh, kw, ci, co / groups]`` of a transposed convolution as that of a convolution
    ``[jh, jw, ci / groups, groups * sh * sw * co / groups]``."""
    kh, kw, ci, co = kernel.shape
    (sh, sw), (jh, jw) = strides, (-(-kh // strides[0]), -(-kw // strides[1]))
    whole = np.zeros((jh * sh, jw * sw, ci, co), kernel.dtype)
    whole[:kh, :kw] = kernel
    # Position r + s * j of phase r is what the j-th pixel before is multiplied by.
    apart = whole.reshape(jh, sh, jw, sw, groups, ci // groups, co)[::-1, :, ::-1]
    together = apart.transpose(0, 2, 5, 4, 1, 3, 6)
    return np.ascontiguousarray(together.reshape(jh, jw, ci // groups, groups * sh * sw * co))
