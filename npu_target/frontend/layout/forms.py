"""Values in several layouts.

A value of three or more axes has up to two forms: *plain*, as the function had it (N, C, spatial
axes), and *last* (N, spatial axes, C). What computes on images makes the form with channels last;
what does not care follows its inputs; everything else takes the plain one. A form is made from the
other where somebody asks for it, so that transposes stay only at the ends, and around what knows
channels first alone.

A value of three axes may also be a *line*, an image of one line with channels last (N, 1, W, C):
what convolutions over lines compute on. No reshape then stands between them and their bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tvm import relax

from ...relax_graph import Graph, constant_of, is_tensor, shape_of, substitute, vars_in


def last_axes(rank: int) -> list[int]:
    """The permutation from plain to channels last."""
    return [0, *range(2, rank), 1]


def plain_axes(rank: int) -> list[int]:
    """The permutation from channels last to plain."""
    return [0, rank - 1, *range(1, rank - 1)]


def axis_in_last(axis: int, rank: int) -> int:
    """Where an axis of the plain form is, from either end, in that with channels last."""
    return last_axes(rank).index(axis % rank)


@dataclass
class Forms:
    """The forms of values that there are so far."""

    graph: Graph
    _plain: dict[relax.Var, relax.Expr] = field(default_factory=dict)
    _last: dict[relax.Var, relax.Expr] = field(default_factory=dict)
    _lines: dict[relax.Var, relax.Expr] = field(default_factory=dict)
    # (N, spatial axes and C flattened) of a plain (N, C and spatial axes flattened), and the shape
    # (C, spatial axes).
    _flat: dict[relax.Var, tuple[relax.Expr, tuple[int, ...]]] = field(default_factory=dict)

    def begin(self, builder: relax.BlockBuilder, plain: dict[relax.Var, relax.Expr]) -> None:
        """Emit with ``builder`` from here on; ``plain`` is filled by it."""
        self.builder, self._plain = builder, plain

    def keep(self, var: relax.Var) -> None:
        """The binding as it was, on plain inputs."""
        value = self.graph.value[var]
        for used in vars_in(value):
            self.plain(used)
        self._plain[var] = self.builder.emit(substitute(value, self._plain), var.name)

    def take_item(self, var: relax.Var, item: relax.TupleGetItem) -> None:
        """A field of a tuple: in the form that the tuple has."""
        source = item.tuple_value
        if source in self._lines and is_tensor(var) and len(shape_of(var)) == 3:
            self.set_line(var, relax.TupleGetItem(self._lines[source], item.index))
        elif source in self._lines:
            field_of = relax.TupleGetItem(self._lines[source], item.index)
            self._plain[var] = self.builder.emit(field_of, var.name)
        elif source in self._last and is_tensor(var) and len(shape_of(var)) > 2:
            self.set_last(var, relax.TupleGetItem(self._last[source], item.index))
        elif source in self._last:
            field_of = relax.TupleGetItem(self._last[source], item.index)
            self._plain[var] = self.builder.emit(field_of, var.name)
        else:
            self.keep(var)

    def has_last(self, expr: relax.Expr) -> bool:
        return isinstance(expr, relax.Var) and (expr in self._last or expr in self._lines)

    def has_line(self, expr: relax.Expr) -> bool:
        return isinstance(expr, relax.Var) and expr in self._lines

    def set_line(self, var: relax.Var, value: relax.Expr) -> bool:
        self._lines[var] = self.builder.emit(value, var.name)
        return True

    def alias_line(self, var: relax.Var, value: relax.Expr) -> bool:
        """``var`` as an image of one line is ``value``."""
        self._lines[var] = value
        return True

    def line(self, expr: relax.Expr) -> relax.Expr:
        """An argument of up to three axes as an image of one line; a scalar as it is."""
        if self.has_line(expr):
            return self._lines[expr]
        value = self.last(expr, 3)
        array = constant_of(value)
        if array is not None:
            return value if array.ndim == 0 else relax.const(array[:, np.newaxis], str(array.dtype))
        if not shape_of(expr):
            return value
        n, w, c = shape_of(value)
        made = self._emit(relax.op.reshape(value, (n, 1, w, c)), expr, "_line")
        if len(shape_of(expr)) == 3:
            self._lines[expr] = made
        return made

    def set_last(self, var: relax.Var, value: relax.Expr) -> bool:
        self._last[var] = self.builder.emit(value, var.name)
        return True

    def set_plain(self, var: relax.Var, value: relax.Expr) -> bool:
        self._plain[var] = self.builder.emit(value, var.name)
        return True

    def alias_last(self, var: relax.Var, value: relax.Expr) -> bool:
        """``var`` with channels last is ``value``."""
        self._last[var] = value
        return True

    def set_flat(self, var: relax.Var, value: relax.Expr, image: tuple[int, ...]) -> bool:
        self._flat[var] = (self.builder.emit(value, var.name), image)
        return True

    def flat(self, expr: relax.Expr) -> tuple[relax.Expr, tuple[int, ...]] | None:
        """Its rows flattened from channels last, and the (C, spatial axes) of one; or None."""
        return self._flat.get(expr) if isinstance(expr, relax.Var) else None

    def plain(self, expr: relax.Expr) -> relax.Expr:
        """An argument in its own layout."""
        if not isinstance(expr, relax.Var):
            return substitute(expr, {var: self.plain(var) for var in vars_in(expr)})
        if expr not in self._plain:
            if expr in self._flat:
                flat, image = self._flat[expr]
                rows = shape_of(expr)[0]
                last = self._emit(relax.op.reshape(flat, (rows, *image[1:], image[0])), expr, "")
                ordered = self._emit(
                    relax.op.permute_dims(last, plain_axes(len(image) + 1)), expr, "_first"
                )
                converted = self._emit(relax.op.reshape(ordered, shape_of(expr)), expr, "_flat")
            else:
                converted = self._move(self.last(expr), expr, to_last=False)
            self._plain[expr] = converted
        return self._plain[expr]

    def last(self, expr: relax.Expr, rank: int | None = None) -> relax.Expr:
        """An argument with channels last; one of fewer axes first gets those in front that it lacks
        to ``rank``, but for a scalar."""
        array = constant_of(expr)
        if array is not None:
            if array.ndim == 0:
                return expr
            array = array.reshape((1,) * ((rank or array.ndim) - array.ndim) + array.shape)
            return relax.const(
                np.ascontiguousarray(array.transpose(last_axes(array.ndim))), str(array.dtype)
            )
        if expr in self._last:
            return self._last[expr]
        if expr in self._lines:
            n, c, w = shape_of(expr)
            self._last[expr] = self._emit(relax.op.reshape(self._lines[expr], (n, w, c)), expr, "")
            return self._last[expr]
        shape = shape_of(expr)
        if not shape:
            return self.plain(expr)
        if rank is not None and len(shape) < rank:
            full = (1,) * (rank - len(shape)) + shape
            value = self._emit(relax.op.reshape(self.plain(expr), full), expr, "_full")
            return self._permuted(value, full, expr, to_last=True)
        self._last[expr] = self._move(self.plain(expr), expr, to_last=True)
        return self._last[expr]

    def _move(self, value: relax.Expr, var: relax.Var, to_last: bool) -> relax.Expr:
        return self._permuted(value, shape_of(var), var, to_last)

    def _permuted(
        self, value: relax.Expr, shape: Sequence[int], var: relax.Var, to_last: bool
    ) -> relax.Expr:
        """``value``, of a plain ``shape``, in the other form: a reshape where no element moves."""
        axes = last_axes(len(shape)) if to_last else plain_axes(len(shape))
        target = tuple(shape[axis] for axis in last_axes(len(shape))) if to_last else tuple(shape)
        if shape[1] == 1 or all(extent == 1 for extent in shape[2:]):
            return self._emit(relax.op.reshape(value, target), var, "_reshaped")
        return self._emit(relax.op.permute_dims(value, axes), var, "_transposed")

    def _emit(self, value: relax.Expr, var: relax.Var, suffix: str) -> relax.Var:
        return self.builder.emit(value, f"{var.name}{suffix}")
