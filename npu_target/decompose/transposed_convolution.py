"""A transposed convolution as one convolution that gives all phases of its output.

Output pixel ``s * q + r`` of a stride ``s`` takes only every ``s``-th position of the kernel, from
``r`` on. So each of the ``s`` phases is a convolution of the image itself, of ``ceil(k / s)``
positions, and all of them together are one, with as many more output channels. Zeros between the
pixels of the image would be multiplied by the whole kernel instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import relax

from ..relax_graph import Graph, attr_ints, constant_of, dtype_of, op_name, shape_of, substitute
from .chain import Chain
from .moves import cropped, permuted, reshaped
from .rewriting import Replacement, Values


@dataclass(frozen=True)
class TransposedConvolution:
    """A conv2d_transpose, whose result is ``var``.

    kernel : its weights `[kh, kw, ci, co / groups]`, a dilation apart. nothing : what is between
    them and stands for 0.
    """

    var: relax.Var
    call: relax.Call
    kernel: np.ndarray
    nothing: int

    @classmethod
    def at(
        cls, graph: Graph, var: relax.Var, weight: np.ndarray | None, nothing: int = 0
    ) -> TransposedConvolution | None:
        """That at ``var``, if it is one, of ``weight`` in its own layout."""
        call = graph.value[var]
        if weight is None or op_name(call) != "relax.nn.conv2d_transpose":
            return None
        attrs, layout = call.attrs, str(call.attrs.data_layout)
        if str(attrs.out_layout) != layout or sorted(layout) != sorted("NHWC"):
            return None
        kernel_layout = str(attrs.kernel_layout)
        kernel = weight.transpose([kernel_layout.find(axis) for axis in "HWIO"])
        kernel = with_zeros_between(kernel, attr_ints(attrs.dilation), nothing)
        return cls(var, call, kernel, nothing)

    @property
    def layout(self) -> str:
        return str(self.call.attrs.data_layout)

    @property
    def _groups(self) -> int:
        return int(self.call.attrs.groups)

    @property
    def _strides(self) -> tuple[int, ...]:
        return attr_ints(self.call.attrs.strides)

    @property
    def phases(self) -> np.ndarray:
        """The weights of the convolution that gives all phases, HWIO."""
        return _phases(self.kernel, self._strides, self._groups, self.nothing)

    def of_phases(self, numbers: np.ndarray) -> np.ndarray:
        """One number for each channel as one for each channel of that convolution."""
        groups, per_group = self._groups, self.kernel.shape[3]
        tiled = numbers.reshape(groups, 1, 1, per_group)
        return np.broadcast_to(tiled, (groups, *self._strides, per_group)).reshape(-1)

    def emit(
        self,
        builder: relax.BlockBuilder,
        values: Values,
        weight: relax.Expr,
        behind: Callable[[relax.Expr], relax.Expr],
    ) -> relax.Expr:
        """In the layout that it had. weight : what is worth `phases`. behind : what follows the
        convolution element by element, NHWC, before its elements are put in order."""
        layout, name = self.layout, self.var.name
        top, left, _, _ = attr_ints(self.call.attrs.padding)
        n, out_h, out_w, co = (shape_of(self.var)[layout.find(axis)] for axis in "NHWC")
        # As many positions before the image as the kernel reaches back, behind it as outputs ask
        # for.
        image = [shape_of(self.call.args[0])[layout.find(axis)] for axis in "HW"]
        before = [extent - 1 for extent in shape_of(weight)[:2]]
        wanted = [
            -(-(start + extent) // stride)
            for start, extent, stride in zip(
                (top, left), (out_h, out_w), self._strides, strict=True
            )
        ]
        after = [max(0, total - extent) for total, extent in zip(wanted, image, strict=True)]
        source = substitute(self.call.args[0], values)
        source = permuted(builder, source, [layout.find(axis) for axis in "NHWC"], name)
        convolution = relax.op.nn.conv2d(
            source,
            weight,
            padding=[*before, *after],
            groups=self._groups,
            data_layout="NHWC",
            kernel_layout="HWIO",
            out_dtype=dtype_of(self.var),
        )
        result = behind(builder.emit(convolution, name))
        _, lines, pixels, _ = shape_of(result)
        (sh, sw), per_group = self._strides, self.kernel.shape[3]
        apart = (n, lines, pixels, self._groups, sh, sw, per_group)
        result = reshaped(builder, result, apart, name)
        result = permuted(builder, result, (0, 1, 4, 2, 5, 3, 6), name)
        result = reshaped(builder, result, (n, lines * sh, pixels * sw, co), name)
        result = cropped(builder, result, (0, top, left, 0), (n, out_h, out_w, co), name)
        return permuted(builder, result, ["NHWC".find(axis) for axis in layout], name)


def rewrite_transposed_convolution(graph: Graph, var: relax.Var) -> Replacement | None:
    """conv2d_transpose of constant weights, in any layout, with what follows it."""
    if op_name(graph.value[var]) != "relax.nn.conv2d_transpose":
        return None
    found = TransposedConvolution.at(graph, var, constant_of(graph.value[var].args[1]))
    if found is None:
        return None
    chain = Chain.after(graph, var, found.layout.find("C"))

    def emit(builder: relax.BlockBuilder, values: Values) -> relax.Expr:
        return found.emit(
            builder,
            values,
            relax.const(found.phases),
            lambda result: chain.emit(builder, result, found.of_phases),
        )

    return Replacement(chain.root, chain.interior, emit)


def with_zeros_between(
    kernel: np.ndarray, dilation: tuple[int, ...], nothing: int = 0
) -> np.ndarray:
    """A kernel ``[kh, kw, ...]`` in which neighbouring positions are a dilation apart; ``nothing``
    stands for 0."""
    extents = [(size - 1) * by + 1 for size, by in zip(kernel.shape, dilation, strict=False)]
    wide = np.full((*extents, *kernel.shape[2:]), nothing, kernel.dtype)
    wide[:: dilation[0], :: dilation[1]] = kernel
    return wide


def _phases(kernel: np.ndarray, strides: tuple[int, ...], groups: int, nothing: int) -> np.ndarray:
    """A kernel ``[kh, kw, ci, co / groups]`` of a transposed convolution as that of a convolution
    ``[jh, jw, ci / groups, groups * sh * sw * co / groups]``."""
    kh, kw, ci, co = kernel.shape
    (sh, sw), (jh, jw) = strides, (-(-kh // strides[0]), -(-kw // strides[1]))
    whole = np.full((jh * sh, jw * sw, ci, co), nothing, kernel.dtype)
    whole[:kh, :kw] = kernel
    # Position r + s * j of phase r is what the j-th pixel before is multiplied by.
    apart = whole.reshape(jh, sh, jw, sw, groups, ci // groups, co)[::-1, :, ::-1]
    together = apart.transpose(0, 2, 5, 4, 1, 3, 6)
    return np.ascontiguousarray(together.reshape(jh, jw, ci // groups, groups * sh * sw * co))
