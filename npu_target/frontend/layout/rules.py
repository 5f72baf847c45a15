"""What each operator does with channels last. A rule says False where it has nothing to say."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tvm import relax

from ...relax_graph import attr_ints, constant_of, is_tensor, shape_of, vars_in
from .forms import Forms, axis_in_last, last_axes, plain_axes

Rule = Callable[[Forms, relax.Var, relax.Call], bool]

# fmt: off
ELEMENTWISE = (
    "abs", "add", "astype", "ceil", "clip", "cos", "divide", "equal", "erf", "exp", "floor",
    "greater", "greater_equal", "less", "less_equal", "log", "log_add_exp", "logical_and",
    "logical_not", "logical_or", "maximum", "minimum", "mod", "multiply", "negative",
    "nn.gelu", "nn.gelu_tanh", "nn.leakyrelu", "nn.relu", "nn.selu", "nn.silu", "nn.softplus",
    "not_equal", "power", "round", "rsqrt", "sigmoid", "sign", "sin", "sqrt", "square",
    "subtract", "tanh", "trunc", "where",
)
# fmt: on
REDUCTIONS = ("max", "mean", "min", "prod", "std", "sum", "variance")
_RESHAPES = ("expand_dims", "flatten", "nn.batch_flatten", "reshape", "squeeze")


def _conv2d(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    attrs = call.attrs
    if (attrs.data_layout, attrs.kernel_layout) != ("NCHW", "OIHW") or attrs.out_layout != "NCHW":
        return False
    value = relax.op.nn.conv2d(
        forms.last(call.args[0]),
        permuted(forms, call.args[1], [2, 3, 1, 0]),
        list(attr_ints(attrs.strides)),
        list(attr_ints(attrs.padding)),
        list(attr_ints(attrs.dilation)),
        int(attrs.groups),
        "NHWC",
        "HWIO",
        "NHWC",
        attrs.out_dtype,
    )
    return forms.set_last(var, value)


def _pool(operator: Callable[..., relax.Expr]) -> Rule:
    def rule(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
        attrs = call.attrs
        if attrs.layout != "NCHW" or attrs.out_layout != "NCHW":
            return False
        value = operator(
            forms.last(call.args[0]),
            list(attr_ints(attrs.pool_size)),
            list(attr_ints(attrs.strides)),
            list(attr_ints(attrs.padding)),
            list(attr_ints(attrs.dilation)),
            bool(attrs.ceil_mode),
            bool(attrs.count_include_pad),
            "NHWC",
            "NHWC",
        )
        return forms.set_last(var, value)

    return rule


def _adaptive_avg_pool2d(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    attrs = call.attrs
    if attrs.layout != "NCHW" or attrs.out_layout != "NCHW":
        return False
    size = None if attrs.output_size is None else list(attr_ints(attrs.output_size))
    value = relax.op.nn.adaptive_avg_pool2d(forms.last(call.args[0]), size, "NHWC", "NHWC")
    return forms.set_last(var, value)


def _resize2d(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    attrs = call.attrs
    if attrs.layout != "NCHW":
        return False
    value = relax.op.image.resize2d(
        forms.last(call.args[0]),
        call.args[1],
        [float(number.value) for number in attrs.roi],
        "NHWC",
        attrs.method,
        attrs.coordinate_transformation_mode,
        attrs.rounding_method,
        float(attrs.cubic_alpha),
        int(attrs.cubic_exclude),
        float(attrs.extrapolation_value),
        attrs.out_dtype,
    )
    return forms.set_last(var, value)


def _elementwise(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    images = [arg for arg in call.args if forms.has_last(arg)]
    if images:
        rank = len(shape_of(images[0]))
        if not is_tensor(var) or len(shape_of(var)) != rank:
            return False
        args = [forms.last(arg, rank) if _is_tensor(arg) else arg for arg in call.args]
        return forms.set_last(var, relax.Call(call.op, args, call.attrs, call.ty_args))
    return _on_rows(forms, var, call)


def _on_rows(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    """One flattened operand, and single numbers."""
    rows = forms.flat(call.args[0])
    others = [shape_of(arg) for arg in call.args[1:] if _is_tensor(arg)]
    if rows is None or any(math.prod(shape) != 1 for shape in others):
        return False
    args = [rows[0], *(forms.plain(arg) for arg in call.args[1:])]
    return forms.set_flat(var, relax.Call(call.op, args, call.attrs, call.ty_args), rows[1])


def _quantize(operator: Callable[..., relax.Expr]) -> Rule:
    def rule(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
        value, scale, zero_point = call.args
        if not forms.has_last(value):
            return _on_rows(forms, var, call)
        rank = len(shape_of(var))
        axis = axis_in_last(int(call.attrs.axis), rank)
        numbers = (forms.plain(scale), forms.plain(zero_point))
        return forms.set_last(
            var, operator(forms.last(value), *numbers, axis, call.attrs.out_dtype)
        )

    return rule


def _reduction(operator: Callable[..., relax.Expr]) -> Rule:
    def rule(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
        (value,) = call.args
        if not forms.has_last(value) or call.attrs.axis is None:
            return False
        rank = len(shape_of(value))
        axes = [axis % rank for axis in attr_ints(call.attrs.axis)]
        reduced = operator(
            forms.last(value), [axis_in_last(axis, rank) for axis in axes], call.attrs.keepdims
        )
        if call.attrs.keepdims:
            return forms.set_last(var, reduced)
        left = [axis for axis in last_axes(rank) if axis not in axes]
        return left == sorted(left) and forms.set_plain(var, reduced)

    return rule


def _along_axis(operator: Callable[..., relax.Expr]) -> Rule:
    def rule(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
        (value,) = call.args
        if not forms.has_last(value):
            return False
        axis = axis_in_last(int(call.attrs.axis), len(shape_of(value)))
        return forms.set_last(var, operator(forms.last(value), axis))

    return rule


def _concat(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    fields = list(call.args[0].fields) if isinstance(call.args[0], relax.Tuple) else []
    if not any(map(forms.has_last, fields)):
        return False
    axis = axis_in_last(int(call.attrs.axis or 0), len(shape_of(var)))
    return forms.set_last(var, relax.op.concat([forms.last(item) for item in fields], axis))


def _split(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    (value,) = call.args
    if not forms.has_last(value):
        return False
    parts = call.attrs.indices_or_sections
    sections = int(parts) if hasattr(parts, "value") else list(attr_ints(parts))
    axis = axis_in_last(int(call.attrs.axis), len(shape_of(value)))
    return forms.set_last(var, relax.op.split(forms.last(value), sections, axis))


def _strided_slice(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    if not forms.has_last(call.args[0]):
        return False
    numbers = [list(attr_ints(item.fields)) for item in call.args[1:]]
    rank = len(shape_of(call.args[0]))
    axes = [axis_in_last(axis, rank) for axis in numbers[0]]
    value = relax.op.strided_slice(
        forms.last(call.args[0]), axes, *numbers[1:], assume_inbound=call.attrs.assume_inbound
    )
    return forms.set_last(var, value)


def _pad(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    if not forms.has_last(call.args[0]):
        return False
    attrs = call.attrs
    widths = list(attr_ints(attrs.pad_width))
    axes = last_axes(len(widths) // 2)
    moved = [widths[2 * axis + end] for axis in axes for end in (0, 1)]
    value = relax.op.nn.pad(forms.last(call.args[0]), moved, attrs.pad_mode, float(attrs.pad_value))
    return forms.set_last(var, value)


def _batch_norm(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    value, *statistics = call.args
    if not forms.has_last(value):
        return False
    attrs = call.attrs
    normalized = relax.op.nn.batch_norm(
        forms.last(value),
        *(forms.plain(array) for array in statistics),
        axis=axis_in_last(int(attrs.axis), len(shape_of(value))),
        epsilon=attrs.epsilon,
        center=attrs.center,
        scale=attrs.scale,
        momentum=attrs.momentum,
        training=attrs.training,
    )
    return forms.set_last(var, normalized)


def _permute_dims(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    (value,) = call.args
    rank = len(shape_of(var))
    if rank < 3 or call.attrs.axes is None:
        return False
    axes = list(attr_ints(call.attrs.axes))
    if axes == plain_axes(rank) and not forms.has_last(value):
        return forms.alias_last(var, forms.plain(value))
    if axes == last_axes(rank) and forms.has_last(value):
        return forms.set_plain(var, forms.last(value))
    return False


def _reshape(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    """Rows of images stay flattened from channels last, pixels in a row (N, C, pixels) likewise;
    where no element of theirs would move, they are reshaped at once. Images of one line are
    lines."""
    value = call.args[0]
    if not forms.has_last(value) or not is_tensor(var):
        return False
    source, target = shape_of(value), shape_of(var)
    if source[1] == 1 or all(extent == 1 for extent in source[2:]):
        return forms.set_plain(var, relax.op.reshape(forms.last(value), target))
    if target == (*source[:2], source[-1]) and len(source) == 4:
        return forms.alias_line(var, forms.last(value))
    if len(target) == 3 and target[:2] == source[:2]:
        pixels = (target[0], target[2], target[1])
        return forms.set_last(var, relax.op.reshape(forms.last(value), pixels))
    if len(target) == 2 and target[0] == source[0]:
        return forms.set_flat(var, relax.op.reshape(forms.last(value), target), source[1:])
    return False


def _matmul(forms: Forms, var: relax.Var, call: relax.Call) -> bool:
    """Flattened images times a constant, whose rows are put in their order."""
    rows = forms.flat(call.args[0])
    weight = call.args[1]
    if rows is None or len(shape_of(weight)) != 2 or not _comes_from_constants(forms, weight):
        return False
    value, image = rows
    shape = shape_of(weight)
    cube = reshaped(forms, forms.plain(weight), (*image, shape[1]))
    axes = [*range(1, len(image)), 0, len(image)]
    ordered = reshaped(forms, permuted(forms, cube, axes, ready=True), shape)
    return forms.set_plain(var, relax.op.matmul(value, ordered, call.attrs.out_dtype))


def permuted(forms: Forms, expr: relax.Expr, axes: list[int], ready: bool = False) -> relax.Expr:
    """An argument with its axes in another order; ``ready``: one of the new function."""
    array = constant_of(expr)
    if array is not None:
        return relax.const(np.ascontiguousarray(array.transpose(axes)), str(array.dtype))
    return forms.builder.emit(relax.op.permute_dims(expr if ready else forms.plain(expr), axes))


def reshaped(forms: Forms, expr: relax.Expr, shape: tuple[int, ...]) -> relax.Expr:
    array = constant_of(expr)
    if array is not None:
        return relax.const(array.reshape(shape), str(array.dtype))
    return forms.builder.emit(relax.op.reshape(expr, shape))


def _comes_from_constants(forms: Forms, expr: relax.Expr) -> bool:
    value = forms.graph.producer(expr)
    if isinstance(value, relax.Var):
        return False
    return all(_comes_from_constants(forms, var) for var in vars_in(value))


def _is_tensor(expr: relax.Expr) -> bool:
    return isinstance(expr.ty, relax.TensorType)


RULES: dict[str, Rule] = {
    "relax.nn.conv2d": _conv2d,
    "relax.nn.max_pool2d": _pool(relax.op.nn.max_pool2d),
    "relax.nn.avg_pool2d": _pool(relax.op.nn.avg_pool2d),
    "relax.nn.adaptive_avg_pool2d": _adaptive_avg_pool2d,
    "relax.image.resize2d": _resize2d,
    "relax.quantize": _quantize(relax.op.quantize),
    "relax.dequantize": _quantize(relax.op.dequantize),
    "relax.nn.softmax": _along_axis(relax.op.nn.softmax),
    "relax.nn.log_softmax": _along_axis(relax.op.nn.log_softmax),
    "relax.concat": _concat,
    "relax.split": _split,
    "relax.strided_slice": _strided_slice,
    "relax.nn.pad": _pad,
    "relax.nn.batch_norm": _batch_norm,
    "relax.permute_dims": _permute_dims,
    "relax.matmul": _matmul,
    **{f"relax.{name}": _elementwise for name in ELEMENTWISE},
    **{f"relax.{name}": _reduction(getattr(relax.op, name)) for name in REDUCTIONS},
    **{f"relax.{name}": _reshape for name in _RESHAPES},
}
