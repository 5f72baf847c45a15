"""Operators of PyTorch that TVM's importer leaves out, gets wrong, or spells so that products are
hard to find again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from tvm import relax

from ...relax_graph import dtype_of, shape_of

if TYPE_CHECKING:
    from torch.fx import Node


class Emit(Protocol):
    """Binds an expression to a variable, called after the operation and a part of it."""

    def __call__(self, value: relax.Expr, part: str = "") -> relax.Var: ...


# f(arguments by name, emit) -> the result.
Converter = Callable[[dict[str, Any], Emit], relax.Expr]

CONVERTERS: dict[str, Converter] = {}


def converts(*operators: str) -> Callable[[Converter], Converter]:
    def register(converter: Converter) -> Converter:
        CONVERTERS.update(dict.fromkeys(operators, converter))
        return converter

    return register


def arguments_of(node: Node, values: Any) -> dict[str, Any]:
    """What an operator is called with, by the names of its schema, defaults included; tensors as
    ``values`` has them."""
    arguments: dict[str, Any] = {}
    for index, argument in enumerate(node.target._schema.arguments):
        if index < len(node.args):
            given = node.args[index]
        else:
            given = node.kwargs.get(argument.name, argument.default_value)
        arguments[argument.name] = _value(given, values)
    return arguments


def _value(given: Any, values: Any) -> Any:
    from torch.fx import Node

    if isinstance(given, Node):
        return values[given]
    if isinstance(given, (list, tuple)):
        return [_value(item, values) for item in given]
    return given


@converts("linear.default")
def _linear(a: dict[str, Any], emit: Emit) -> relax.Expr:
    axes = list(range(len(shape_of(a["weight"]))))
    weight = emit(relax.op.permute_dims(a["weight"], axes[::-1]), "weight")
    product = emit(relax.op.matmul(a["input"], weight))
    return product if a["bias"] is None else emit(relax.op.add(product, a["bias"]), "bias")


@converts("matmul.default", "mm.default", "bmm.default")
def _matmul(a: dict[str, Any], emit: Emit) -> relax.Expr:
    left, right = (a[name] for name in ("self", "other", "mat2") if name in a)
    return emit(relax.op.matmul(left, right))


@converts("addmm.default", "baddbmm.default")
def _addmm(a: dict[str, Any], emit: Emit) -> relax.Expr:
    left, right = (a[name] for name in ("mat1", "batch1", "mat2", "batch2") if name in a)
    product, addend = emit(relax.op.matmul(left, right)), a["self"]
    if a["alpha"] != 1:
        product = emit(relax.op.multiply(product, _like(a["alpha"], product)), "times")
    if a["beta"] != 1:
        addend = emit(relax.op.multiply(addend, _like(a["beta"], addend)), "addend")
    return emit(relax.op.add(product, addend), "bias")


@converts("convolution.default")
def _convolution(a: dict[str, Any], emit: Emit) -> relax.Expr:
    value, weight = a["input"], a["weight"]
    rank = len(shape_of(value)) - 2
    numbers = {
        "strides": list(a["stride"]),
        "padding": [*a["padding"], *a["padding"]],
        "dilation": list(a["dilation"]),
        "groups": a["groups"],
    }
    operator = _CONVOLUTIONS.get((rank, a["transposed"]))
    if operator is None:
        raise ValueError(f"has {rank} dimensions, 1 or 2 are known")
    if a["transposed"]:
        numbers["output_padding"] = list(a["output_padding"])
    result = emit(operator(value, weight, **numbers))
    if a["bias"] is None:
        return result
    channels = shape_of(a["bias"])[0]
    bias = emit(relax.op.reshape(a["bias"], (1, channels, *[1] * rank)), "channels")
    return emit(relax.op.add(result, bias), "bias")


_CONVOLUTIONS = {
    (1, False): relax.op.nn.conv1d,
    (2, False): relax.op.nn.conv2d,
    (1, True): relax.op.nn.conv1d_transpose,
    (2, True): relax.op.nn.conv2d_transpose,
}


@converts("scaled_dot_product_attention.default")
def _attention(a: dict[str, Any], emit: Emit) -> relax.Expr:
    """Two products with a softmax between them."""
    query, key, value = a["query"], a["key"], a["value"]
    if a["dropout_p"]:
        raise ValueError("has dropout; call .eval() before exporting")
    rank = len(shape_of(query))
    if a["enable_gqa"] and shape_of(key)[-3] != shape_of(query)[-3]:
        times = shape_of(query)[-3] // shape_of(key)[-3]
        key, value = (emit(relax.op.repeat(x, times, rank - 3), "repeated") for x in (key, value))
    axes = [*range(rank - 2), rank - 1, rank - 2]
    keys = emit(relax.op.permute_dims(key, axes), "keys")
    scores = emit(relax.op.matmul(query, keys), "scores")
    scale = a["scale"] if a["scale"] is not None else 1.0 / math.sqrt(shape_of(query)[-1])
    scores = emit(relax.op.multiply(scores, _like(scale, scores)), "scaled")
    # What is masked has a weight of 0 in any softmax, but for rows of which nothing is left.
    least = float(np.finfo("float32").min)
    if a["is_causal"]:
        rows, columns = shape_of(scores)[-2:]
        mask = np.where(np.tri(rows, columns, dtype=bool), 0.0, least).astype("float32")
        scores = emit(relax.op.add(scores, relax.const(mask)), "masked")
    if a["attn_mask"] is not None:
        mask = a["attn_mask"]
        if dtype_of(mask) == "bool":
            zero, masked = (relax.const(np.float32(x)) for x in (0.0, least))
            mask = emit(relax.op.where(mask, zero, masked), "mask")
        else:
            mask = emit(relax.op.maximum(mask, relax.const(np.float32(least))), "mask")
        scores = emit(relax.op.add(scores, mask), "masked")
    weights = emit(relax.op.nn.softmax(scores, axis=-1), "softmax")
    return emit(relax.op.matmul(weights, value))


@converts("hardtanh.default", "clamp.default", "clamp_min.default", "clamp_max.default")
def _clamp(a: dict[str, Any], emit: Emit) -> relax.Expr:
    value = a["self"]
    low = a.get("min_val", a.get("min"))
    high = a.get("max_val", a.get("max"))
    if low == 0 and high is None:
        return emit(relax.op.nn.relu(value))
    if dtype_of(value) != "float32":
        for bound, op in ((low, relax.op.maximum), (high, relax.op.minimum)):
            if bound is not None:
                value = emit(op(value, _like(bound, value)))
        return value
    low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
    return emit(relax.op.clip(value, float(low), float(high)))


@converts("avg_pool2d.default")
def _avg_pool2d(a: dict[str, Any], emit: Emit) -> relax.Expr:
    if a["divisor_override"] is not None:
        raise ValueError("has a divisor of its own; leave divisor_override out")
    return emit(
        relax.op.nn.avg_pool2d(
            *_windows(a), ceil_mode=a["ceil_mode"], count_include_pad=a["count_include_pad"]
        )
    )


@converts("max_pool2d.default", "max_pool2d_with_indices.default")
def _max_pool2d(a: dict[str, Any], emit: Emit) -> relax.Expr:
    """The indices are not there; who uses them is refused."""
    return emit(relax.op.nn.max_pool2d(*_windows(a), a["dilation"], ceil_mode=a["ceil_mode"]))


def _windows(a: dict[str, Any]) -> tuple[relax.Expr, list[int], list[int], list[int]]:
    """A pool's image, and its windows' size, strides and padding; by default they touch."""
    size = a["kernel_size"]
    return a["self"], size, a["stride"] or size, _both_ends(a["padding"])


@converts("native_layer_norm.default")
def _layer_norm(a: dict[str, Any], emit: Emit) -> relax.Expr:
    """Mean and deviation, the other two results, are not there."""
    shape = tuple(a["normalized_shape"])
    gamma = a["weight"] if a["weight"] is not None else relax.const(np.ones(shape, "float32"))
    beta = a["bias"] if a["bias"] is not None else relax.const(np.zeros(shape, "float32"))
    axes = list(range(-len(shape), 0))
    return emit(relax.op.nn.layer_norm(a["input"], gamma, beta, axes, a["eps"]))


@converts("_native_batch_norm_legit_no_training.default")
def _batch_norm(a: dict[str, Any], emit: Emit) -> relax.Expr:
    """With its running statistics; mean and deviation, the other two results, are not there."""
    channels = (shape_of(a["input"])[1],)
    gamma = a["weight"] if a["weight"] is not None else relax.const(np.ones(channels, "float32"))
    beta = a["bias"] if a["bias"] is not None else relax.const(np.zeros(channels, "float32"))
    norm = relax.op.nn.batch_norm(
        a["input"],
        gamma,
        beta,
        a["running_mean"],
        a["running_var"],
        axis=1,
        epsilon=a["eps"],
        training=False,
    )
    return emit(emit(norm, "norm")[0])


@converts("upsample_nearest2d.vec", "upsample_bilinear2d.vec")
def _upsample(a: dict[str, Any], emit: Emit) -> relax.Expr:
    height, width = shape_of(a["input"])[2:]
    size = a["output_size"]
    if size is None:
        size = [math.floor(n * s) for n, s in zip((height, width), a["scale_factors"], strict=True)]
    elif a.get("scale_factors") is not None:
        raise ValueError("has a size and factors; give one of them")
    if a["scale_factors"] is not None and any(
        abs(n * s - out) > 1e-9
        for n, s, out in zip((height, width), a["scale_factors"], size, strict=True)
    ):
        raise ValueError("has factors that give no whole size; give a size instead")
    if "align_corners" in a:
        coordinates = "align_corners" if a["align_corners"] else "half_pixel"
        method, rounding = "linear", ""
    else:
        coordinates, method, rounding = "asymmetric", "nearest_neighbor", "floor"
    return emit(
        relax.op.image.resize2d(
            a["input"],
            tuple(size),
            layout="NCHW",
            method=method,
            coordinate_transformation_mode=coordinates,
            rounding_method=rounding or "round",
        )
    )


@converts("amax.default")
def _amax(a: dict[str, Any], emit: Emit) -> relax.Expr:
    return emit(relax.op.max(a["self"], list(a["dim"]) or None, a["keepdim"]))


@converts("amin.default")
def _amin(a: dict[str, Any], emit: Emit) -> relax.Expr:
    return emit(relax.op.min(a["self"], list(a["dim"]) or None, a["keepdim"]))


@converts("select.int")
def _select(a: dict[str, Any], emit: Emit) -> relax.Expr:
    shape = shape_of(a["self"])
    axis = a["dim"] % len(shape)
    index = a["index"] % shape[axis]
    part = emit(relax.op.strided_slice(a["self"], [axis], [index], [index + 1]), "slice")
    return emit(relax.op.squeeze(part, [axis]))


def _both_ends(padding: list[int]) -> list[int]:
    return [*padding, *padding] if len(padding) == 2 else list(padding)


def _like(value: float, tensor: relax.Expr) -> relax.Expr:
    return relax.const(np.array(value, dtype_of(tensor)))
