"""Exponentials of int8 from a table, by how far an element lies below the largest of its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm import te, tirx


def below_largest(
    value: te.Tensor, table: te.Tensor
) -> Callable[[Sequence[tirx.Expr], tirx.Expr], tirx.Expr]:
    """The exponential of ``value``, int8, at a place of its last axis, the other indices given.

    table : of 256 elements, for 0 to 255 below the largest of the last axis.
    """
    shape = tuple(map(int, value.shape))
    over = te.reduce_axis((0, shape[-1]), "over")
    largest = te.compute(
        (*shape[:-1], 1), lambda *at: te.max(value(*at[:-1], over), axis=over), name="largest"
    )

    def exponential(at: Sequence[tirx.Expr], position: tirx.Expr) -> tirx.Expr:
        top = largest(*at[:-1], 0).astype("int32")
        return table[top - value(*at[:-1], position).astype("int32")]

    return exponential
