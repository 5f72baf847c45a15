"""Elements by their indices, where the importer asks at run time for shapes that are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...relax_graph import constant_of, dtype_of, is_tensor, shape_of

_Form = Callable[[Sequence[Any], Mapping[str, Any]], relax.Expr]


def gather_form(op_name: str, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> relax.Expr | None:
    """`Gather`, `GatherElements` and `GatherND` of tensors of static shapes; None for anything
    else."""
    if op_name not in _FORMS or not all(
        isinstance(value, relax.Expr) and is_tensor(value) for value in inputs[:2]
    ):
        return None
    if all(constant_of(value) is not None for value in inputs[:2]):
        return None
    return _FORMS[op_name](inputs, attrs)


def _gather(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> relax.Expr:
    data, indices = inputs[:2]
    shape = shape_of(data)
    axis = attrs.get("axis", 0) % len(shape)
    given = constant_of(indices)
    if given is None or given.ndim:
        return relax.op.take(data, _from_the_front(indices, shape[axis]), axis, mode="clip")
    # One place of an axis: a slice, which is not computed where the layout allows that.
    place = int(given) % shape[axis]
    part = relax.op.strided_slice(data, [axis], [place], [place + 1])
    return relax.op.squeeze(part, [axis])


def _gather_elements(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> relax.Expr:
    data, indices = inputs[:2]
    shape = shape_of(data)
    axis = attrs.get("axis", 0) % len(shape)
    return relax.op.gather_elements(data, _from_the_front(indices, shape[axis]), axis)


def _gather_nd(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> relax.Expr:
    data, indices = inputs[:2]
    first = attrs.get("batch_dims", 0)
    extents = np.array(shape_of(data)[first:][: shape_of(indices)[-1]])
    return relax.op.gather_nd(data, _from_the_front(indices, extents), first)


def _from_the_front(indices: relax.Expr, extent: int | np.ndarray) -> relax.Expr:
    """Indices without negative ones, which count from the end."""
    dtype = dtype_of(indices)
    given = constant_of(indices)
    if given is not None:
        return relax.const(np.where(given < 0, given + extent, given), dtype)
    below = relax.op.less(indices, relax.const(0, dtype))
    moved = relax.op.add(indices, relax.const(np.asarray(extent), dtype))
    return relax.op.where(below, moved, indices)


_FORMS: Mapping[str, _Form] = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
}
