"""Operators that move or compare elements, so that of int8 they are exact with its scale."""

from __future__ import annotations

from tvm import relax

from ..relax_graph import constant_of, op_name, shape_of

# Each element of the result is one of the first argument.
_MOVES = frozenset(
    {
        "relax.broadcast_to",
        "relax.expand_dims",
        "relax.flatten",
        "relax.flip",
        "relax.max",
        "relax.min",
        "relax.nn.batch_flatten",
        "relax.nn.max_pool1d",
        "relax.nn.max_pool2d",
        "relax.nn.pixel_shuffle",
        "relax.nn.relu",
        "relax.permute_dims",
        "relax.repeat",
        "relax.reshape",
        "relax.squeeze",
        "relax.strided_slice",
        "relax.take",
        "relax.tile",
    }
)
_COMPARISONS = frozenset({"relax.maximum", "relax.minimum"})


def keeps_scale(call: relax.Call) -> bool:
    """Whether each element of the result is one of the only float tensor among the arguments, or
    0."""
    name = op_name(call)
    if not call.args or not isinstance(call.args[0], relax.Var):
        return False
    if name == "relax.nn.pad":
        return str(call.attrs.pad_mode) != "constant" or float(call.attrs.pad_value) == 0
    if name == "relax.image.resize2d":
        return str(call.attrs.method) == "nearest_neighbor"
    return name in _MOVES


def joins(call: relax.Call) -> bool:
    """Whether each element of the result is one of several tensors or a number: exact where all
    of them have one scale."""
    name = op_name(call)
    if name == "relax.nn.pad":
        return isinstance(call.args[0], relax.Var) and not keeps_scale(call)
    if name in ("relax.concat", "relax.stack"):
        fields = call.args[0].fields if isinstance(call.args[0], relax.Tuple) else []
        return bool(fields) and all(isinstance(field, relax.Var) for field in fields)
    if name in _COMPARISONS:
        left, right = call.args
        variables = isinstance(left, relax.Var) and isinstance(right, relax.Var)
        return variables and shape_of(left) == shape_of(right)
    return False


def is_product_of_tensors(call: relax.Call) -> bool:
    """Whether it multiplies two tensors element by element, one maybe repeated along axes."""
    return op_name(call) == "relax.multiply" and all(
        isinstance(argument, relax.Var) and constant_of(argument) is None for argument in call.args
    )
