"""What an operator looks like in integer Relax, and what a match of it says.

Spellings are built in TVM's pattern language, with the freedom that importers take: operands of a
multiplication either way round, ReLU as ``maximum``, ``nn.relu`` or a clip at 0. How a sum becomes
an element is the device's (`Numbers.rule`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from tvm import relax
from tvm.relax.dpl import DFPattern, has_dtype, is_const, is_op, wildcard

from ..relax_graph import Graph, attr_ints, constant_of, shape_of

if TYPE_CHECKING:
    from ..device.numbers import Numbers
    from .operator import Operator


@dataclass(frozen=True, eq=False)
class Spelling:
    """A pattern with its parts.

    op : the operation of Relax that ``anchor`` is a call of. It gives the region its name.
    root : the whole pattern.
    parts : subpatterns by name, some of which a match may not contain.
    inputs : the names of those whose values come from outside.
    anchor_dtype : the type that the anchor must have, where the pattern wants one.
    sums : whether it ends in sums, which nothing requantizes.
    """

    op: str
    root: DFPattern
    anchor: DFPattern
    parts: dict[str, DFPattern]
    inputs: tuple[str, ...]
    anchor_dtype: str | None = None
    sums: bool = False


@dataclass(frozen=True)
class Match:
    """``spelling`` found with its root bound to ``root``.

    interior : the bindings that the region replaces, the root's included.
    parts : the variables and constants at the spelling's named places.
    scale, relu : of its requantization, where it has one; a tuple of scales is one a channel.
    """

    graph: Graph
    spelling: Spelling
    root: relax.Var
    anchor: relax.Var
    interior: tuple[relax.Var, ...]
    parts: Mapping[str, relax.Expr]
    scale: float | tuple[float, ...] = 1.0
    relu: bool = False

    @property
    def one_scale(self) -> float:
        """The scale of all channels.  The partitioner leaves others to operators that take them."""
        assert not isinstance(self.scale, tuple)
        return self.scale

    def part(self, name: str) -> relax.Expr:
        """The expression matched by a part that is in every match."""
        return self.parts[name]

    def optional(self, name: str) -> relax.Expr | None:
        """The expression matched by a part, None if this match does without it."""
        return self.parts.get(name)

    @property
    def call(self) -> relax.Call:
        """The anchor's call."""
        return self.graph.value[self.anchor]

    def bias(self, channel_axis: int) -> np.ndarray | str | None:
        """The part ``bias``, one int32 for each element of an axis of the anchor; None without
        one, a reason for one that the device cannot add."""
        bias = self.optional("bias")
        if bias is None:
            return None
        values = constant_of(bias)
        if values is None:
            return "its bias is not constant"
        if values.dtype != np.int32:
            return f"its bias is {values.dtype}, the device adds int32"
        sums = shape_of(self.anchor)
        shape = (1,) * (len(sums) - values.ndim) + values.shape
        if len(shape) > len(sums) or any(n != 1 for i, n in enumerate(shape) if i != channel_axis):
            return f"its bias of shape {values.shape} is not one value a channel"
        return np.ascontiguousarray(np.broadcast_to(values.reshape(-1), (sums[channel_axis],)))

    def padding(self, own: tuple[int, ...], own_value: int = 0) -> Padding | str:
        """What is beside an image ``[n, h, w, c]``: the ``own`` padding of the anchor by
        ``own_value`` (top, left, bottom, right), and that of the part ``pad``; or why it is none of
        the device's."""
        top, left, bottom, right = own
        if "pad" not in self.parts:
            return Padding((top, left, bottom, right), own_value)
        attrs = self.graph.producer(self.part("pad")).attrs
        widths, value = attr_ints(attrs.pad_width), float(attrs.pad_value)
        if str(attrs.pad_mode) != "constant" or not value.is_integer():
            return f"padding by {attrs.pad_mode} {value:g}, the device pads by one int8"
        if len(widths) != 8 or any((*widths[:2], *widths[6:])) or min(widths) < 0:
            return f"padding {widths} of other axes than lines and pixels, or by less than nothing"
        if any(own) and own_value != value:
            return f"padding by {value:g}, then by {own_value}"
        before, behind = (widths[2], widths[4]), (widths[3], widths[5])
        pad = (top + before[0], left + before[1], bottom + behind[0], right + behind[1])
        return Padding(pad, int(value))


class Padding(NamedTuple):
    """Padding of an image: top, left, bottom, right, and its value."""

    pad: tuple[int, int, int, int]
    value: int


@dataclass(frozen=True)
class Accepted:
    """What a match becomes: the operator and its arguments, values of the function, or constants
    laid out anew at compile time."""

    operator: Operator
    arguments: tuple[relax.Expr | np.ndarray, ...]


def element(numbers: Numbers) -> DFPattern:
    """Any tensor of the device's elements."""
    return has_dtype(numbers.element, wildcard())


def commuted(op: str, left: DFPattern, right: DFPattern) -> DFPattern:
    """A call with its operands either way round."""
    return is_op(op)(left, right) | is_op(op)(right, left)


def widened(value: DFPattern, numbers: Numbers) -> DFPattern:
    """Elements as numbers of the type of sums."""
    return has_dtype(numbers.sum, is_op("relax.astype")(value))


def requantized(
    value: DFPattern, parts: dict[str, DFPattern], numbers: Numbers, with_relu: bool = True
) -> DFPattern:
    """Elements made of a sum as the device does it, maybe followed by a ReLU."""
    made = numbers.rule.pattern(value, parts)
    if not with_relu:
        return made
    parts.update({"zero": is_const(), "relu": is_op("relax.nn.relu")(made)})
    return commuted("relax.maximum", made, parts["zero"]) | parts["relu"] | made


def padded(value: DFPattern, parts: dict[str, DFPattern], numbers: Numbers) -> DFPattern:
    """Elements padded by a value; the part ``pad`` says how (`Match.padding`)."""
    parts["pad"] = has_dtype(numbers.element, is_op("relax.nn.pad")(value))
    return parts["pad"]


def product(op: str, numbers: Numbers, *, sums: bool = False, is_padded: bool = False) -> Spelling:
    """A product of two operands, of which the first may be padded before, into sums, with or
    without a bias, requantized or not."""
    parts = {"data": element(numbers), "weight": element(numbers), "bias": wildcard()}
    data = padded(parts["data"], parts, numbers) if is_padded else parts["data"]
    anchor = has_dtype(numbers.sum, is_op(op)(data, parts["weight"]))
    root = commuted("relax.add", anchor, parts["bias"]) | anchor
    if not sums:
        root = requantized(root, parts, numbers)
    return Spelling(op, root, anchor, parts, ("data", "weight", "bias"), numbers.sum, sums)
