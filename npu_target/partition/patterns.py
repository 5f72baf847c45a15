"""What integer Relax looks like where the device has an operation for it.

Each function builds a fresh pattern in TVM's pattern language and names the parts that
:mod:`.checks` looks at. The spellings are those of :mod:`npu_target.quantize.integer_ops`, with
the freedom that other importers take: operands of a multiplication either way round, ReLU as
``maximum``, ``nn.relu`` or a clip at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm.relax.dpl import DFPattern, has_dtype, is_const, is_op, wildcard


@dataclass(frozen=True)
class Spelling:
    """A pattern with its parts. ``anchor`` is the operation that gives the region its name;
    ``parts`` are subpatterns by name, some of which a match may not contain, and ``inputs`` the
    names of those whose values come from outside."""

    name: str
    root: DFPattern
    anchor: DFPattern
    parts: dict[str, DFPattern]
    inputs: tuple[str, ...]


def _int8() -> DFPattern:
    return has_dtype("int8", wildcard())


def _commuted(name: str, left: DFPattern, right: DFPattern) -> DFPattern:
    return is_op(name)(left, right) | is_op(name)(right, left)


def _requantized(value: DFPattern, parts: dict[str, DFPattern]) -> DFPattern:
    """``int8(clip(round(float32(value) * scale)))``."""
    scale, low, high = is_const(), wildcard(), wildcard()
    converted = has_dtype("float32", is_op("relax.astype")(value))
    rounded = is_op("relax.round")(_commuted("relax.multiply", converted, scale))
    clipped = is_op("relax.clip")(rounded, low, high)
    parts.update({"scale": scale, "low": low, "high": high})
    return has_dtype("int8", is_op("relax.astype")(clipped))


def _with_relu(value: DFPattern, parts: dict[str, DFPattern]) -> DFPattern:
    zero = is_const()
    maximum = _commuted("relax.maximum", value, zero)
    relu = is_op("relax.nn.relu")(value)
    parts.update({"zero": zero, "relu": relu})
    return maximum | relu | value


def _product(op: str) -> Spelling:
    parts = {"data": _int8(), "weight": _int8(), "bias": wildcard()}
    anchor = has_dtype("int32", is_op(op)(parts["data"], parts["weight"]))
    biased = _commuted("relax.add", anchor, parts["bias"])
    root = _with_relu(_requantized(biased | anchor, parts), parts)
    name = op.removeprefix("relax.").removeprefix("nn.")
    return Spelling(name, root, anchor, parts, ("data", "weight", "bias"))


def conv2d() -> Spelling:
    """int8 conv2d of any grouping, into int32, requantized."""
    return _product("relax.nn.conv2d")


def matmul() -> Spelling:
    """int8 matmul, batched or not, into int32, requantized."""
    return _product("relax.matmul")


def residual_add() -> Spelling:
    """Two int8 tensors, each times an integer or as it is, added in int32 and requantized."""
    parts = {"a": _int8(), "b": _int8()}
    operands = []
    for side in ("a", "b"):
        wide = has_dtype("int32", is_op("relax.astype")(parts[side]))
        parts[f"{side}_multiplier"] = is_const()
        multiplied = _commuted("relax.multiply", wide, parts[f"{side}_multiplier"])
        operands.append(multiplied | wide)
    anchor = is_op("relax.add")(*operands)
    root = _with_relu(_requantized(anchor, parts), parts)
    return Spelling("add", root, anchor, parts, ("a", "b"))


def max_pool2d() -> Spelling:
    """int8 max pooling."""
    parts = {"data": _int8()}
    anchor = is_op("relax.nn.max_pool2d")(parts["data"])
    return Spelling("max_pool2d", anchor, anchor, parts, ("data",))


def global_avg_pool() -> Spelling:
    """int32 sum of int8 pixels, requantized."""
    parts = {"data": _int8()}
    wide = has_dtype("int32", is_op("relax.astype")(parts["data"]))
    anchor = is_op("relax.sum")(wide)
    root = _requantized(anchor, parts)
    return Spelling("global_avg_pool", root, anchor, parts, ("data",))


SPELLINGS: tuple[Callable[[], Spelling], ...] = (
    conv2d,
    matmul,
    residual_add,
    max_pool2d,
    global_avg_pool,
)
