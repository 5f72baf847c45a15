"""What each operator does with lines, which are images of one line with channels last.

A rule says False where it has nothing to say; those of `rules` come then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tvm import relax

from ...relax_graph import attr_ints, is_tensor, shape_of
from .forms import Forms
from .rules import ELEMENTWISE, REDUCTIONS, Rule, permuted, reshaped

# Where an axis of (N, C, W) is in (N, 1, W, C).
_AXES = (0, 3, 2)


def _conv1d(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    attrs = call.attrs
    if (attrs.data_layout, attrs.kernel_layout) != ("NCW", "OIW") or attrs.out_layout != "NCW":
        return False
    weight = permuted(forms, call.args[1], [2, 1, 0])
    value = relax.op.nn.conv2d(
        forms.line(call.args[0]),
        reshaped(forms, weight, (1, *shape_of(weight))),
        [1, *attr_ints(attrs.strides)],
        _padding(attrs),
        [1, *attr_ints(attrs.dilation)],
        int(attrs.groups),
        "NHWC",
        "HWIO",
        "NHWC",
        attrs.out_dtype,
    )
    return forms.set_line(var, value)


def _pool(operator: Callable[..., relax.Expr]) -> Rule:
    def rule(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
        attrs = call.attrs
        if attrs.layout != "NCW" or attrs.out_layout != "NCW":
            return False
        value = operator(
            forms.line(call.args[0]),
            [1, *attr_ints(attrs.pool_size)],
            [1, *attr_ints(attrs.strides)],
            _padding(attrs),
            [1, *attr_ints(attrs.dilation)],
            bool(attrs.ceil_mode),
            bool(attrs.count_include_pad),
            "NHWC",
            "NHWC",
        )
        return forms.set_line(var, value)

    return rule


def _padding(attrs: relax.Attrs) -> list[int]:
    left, right = attr_ints(attrs.padding)
    return [0, left, 0, right]


def _adaptive_avg_pool1d(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    attrs = call.attrs
    if attrs.layout != "NCW" or attrs.out_layout != "NCW":
        return False
    size = [1, shape_of(var)[2]]
    value = relax.op.nn.adaptive_avg_pool2d(forms.line(call.args[0]), size, "NHWC", "NHWC")
    return forms.set_line(var, value)


def _elementwise(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    if not any(map(forms.has_line, call.args)) or not is_tensor(var) or len(shape_of(var)) != 3:
        return False
    args = [forms.line(arg) if isinstance(arg.ty, relax.TensorType) else arg for arg in call.args]
    return forms.set_line(var, relax.Call(call.op, args, call.attrs, call.ty_args))


def _quantize(operator: Callable[..., relax.Expr]) -> Rule:
    def rule(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
        value, *numbers = call.args
        if not forms.has_line(value):
            return False
        axis = _AXES[int(call.attrs.axis) % 3]
        plain = map(forms.plain, numbers)
        return forms.set_line(var, operator(forms.line(value), *plain, axis, call.attrs.out_dtype))

    return rule


def _batch_norm(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    value, *statistics = call.args
    if not forms.has_line(value):
        return False
    attrs = call.attrs
    normalized = relax.op.nn.batch_norm(
        forms.line(value),
        *map(forms.plain, statistics),
        axis=_AXES[int(attrs.axis) % 3],
        epsilon=attrs.epsilon,
        center=attrs.center,
        scale=attrs.scale,
        momentum=attrs.momentum,
        training=attrs.training,
    )
    return forms.set_line(var, normalized)


def _concat(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    fields = list(call.args[0].fields) if isinstance(call.args[0], relax.Tuple) else []
    if not any(map(forms.has_line, fields)):
        return False
    axis = _AXES[int(call.attrs.axis or 0) % 3]
    return forms.set_line(var, relax.op.concat([forms.line(item) for item in fields], axis))


def _pad(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    if not forms.has_line(call.args[0]):
        return False
    attrs = call.attrs
    widths = attr_ints(attrs.pad_width)
    moved = [0] * 8
    for axis, target in enumerate(_AXES):
        moved[2 * target : 2 * target + 2] = widths[2 * axis : 2 * axis + 2]
    value = relax.op.nn.pad(forms.line(call.args[0]), moved, attrs.pad_mode, float(attrs.pad_value))
    return forms.set_line(var, value)


def _strided_slice(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    if not forms.has_line(call.args[0]):
        return False
    axes, *numbers = (list(attr_ints(item.fields)) for item in call.args[1:])
    value = relax.op.strided_slice(
        forms.line(call.args[0]),
        [_AXES[axis % 3] for axis in axes],
        *numbers,
        assume_inbound=call.attrs.assume_inbound,
    )
    return forms.set_line(var, value)


def _reduction(operator: Callable[..., relax.Expr]) -> Rule:
    """Over the whole line, and more perhaps."""

    def rule(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
        (value,) = call.args
        if not forms.has_line(value) or call.attrs.axis is None:
            return False
        axes = {axis % 3 for axis in attr_ints(call.attrs.axis)}
        if 2 not in axes:
            return False
        reduced = operator(forms.line(value), _with_height(axes), call.attrs.keepdims)
        return (
            forms.set_line(var, reduced) if call.attrs.keepdims else forms.set_plain(var, reduced)
        )

    return rule


def _with_height(axes: Iterable[int]) -> list[int]:
    return sorted({1, *(_AXES[axis] for axis in axes)})


def _reshape(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    """A line as an image (N, C, 1, W)."""
    value = call.args[0]
    if not forms.has_line(value) or not is_tensor(var):
        return False
    n, c, w = shape_of(value)
    return shape_of(var) == (n, c, 1, w) and forms.alias_last(var, forms.line(value))


RULES: dict[str, Rule] = {
    "relax.nn.conv1d": _conv1d,
    "relax.nn.max_pool1d": _pool(relax.op.nn.max_pool2d),
    "relax.nn.avg_pool1d": _pool(relax.op.nn.avg_pool2d),
    "relax.nn.adaptive_avg_pool1d": _adaptive_avg_pool1d,
    "relax.quantize": _quantize(relax.op.quantize),
    "relax.dequantize": _quantize(relax.op.dequantize),
    "relax.nn.batch_norm": _batch_norm,
    "relax.concat": _concat,
    "relax.nn.pad": _pad,
    "relax.strided_slice": _strided_slice,
    "relax.expand_dims": _reshape,
    "relax.reshape": _reshape,
    **{f"relax.{name}": _elementwise for name in ELEMENTWISE},
    **{f"relax.{name}": _reduction(getattr(relax.op, name)) for name in REDUCTIONS},
}
