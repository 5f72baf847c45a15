"""Relax's importer, with the names of the file."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import IRModule
from tvm.relax.frontend.onnx import onnx_frontend

from ...relax_graph import (
    Graph,
    GraphError,
    constant_of,
    dtype_of,
    is_tensor,
    op_name,
    rebuild,
    replace_function,
    substitute,
)
from ..foreign import called_back, first_line, refusing
from ..qdq.constants import constant
from .gather import gather_form
from .normalize import Normalized
from .softmax import IntegerSoftmax

_PRODUCTS = ("relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv2d_transpose", "relax.matmul")

_INT32 = 6  # onnx.TensorProto.INT32


def known_operators() -> frozenset[str]:
    """Operators of the standard that the importer has."""
    return frozenset(onnx_frontend._get_convert_map())


class _Importer(onnx_frontend.ONNXGraphImporter):
    """Binds what each node gives to a variable of its name; ``nodes`` has the file's by it."""

    def __init__(self, softmaxes: Mapping[str, IntegerSoftmax]) -> None:
        super().__init__({}, "float32")
        self._softmaxes = softmaxes
        self.nodes: dict[str, str] = {}
        self.node: str | None = None

    def _convert_operator(
        self, op_name: str, inputs: Any, attrs: dict[str, Any], opset: int
    ) -> relax.Expr:
        name = attrs["tvm_custom"]["name"]
        self.node = f"{op_name} {name}".strip()
        with called_back():
            softmax = self._softmaxes.get(name)
            result: relax.Expr | None = (
                _short_form(op_name, inputs, attrs)
                if softmax is None
                else softmax.emit(self.bb, inputs[0], identifier(name))
            )
        if result is None:
            result = super()._convert_operator(op_name, inputs, attrs, opset)
        else:
            result = self.bb.normalize(result)
        with called_back():
            if isinstance(result, relax.Call) and isinstance(result.ty, relax.TensorType):
                result = self.bb.emit(result, identifier(name or op_name))
            if isinstance(result, relax.Var):
                self.nodes.setdefault(result.name, name or op_name)
        return result


def _short_form(op_name: str, inputs: Any, attrs: dict[str, Any]) -> relax.Expr | None:
    """One operator of Relax where the importer writes several; None where it does well.

    Elements by their indices; Clip with constant bounds; Max and Min of two; a Cast from float32
    to int32, whose result is undefined (by ONNX) where the importer defines it.
    """
    if op_name.startswith("Gather"):
        return gather_form(op_name, inputs, attrs)
    if op_name == "Cast" and attrs.get("to") == _INT32 and dtype_of(inputs[0]) == "float32":
        return relax.op.astype(inputs[0], "int32")
    if op_name in ("Max", "Min") and len(inputs) == 2:
        operator = relax.op.maximum if op_name == "Max" else relax.op.minimum
        return operator(inputs[0], inputs[1])
    if op_name != "Clip" or dtype_of(inputs[0]) != "float32":
        return None
    low, high = attrs.get("min"), attrs.get("max")
    for index, given in enumerate(inputs[1:3]):
        bound = None if given is None else constant_of(given)
        if given is not None and (bound is None or bound.size != 1):
            return None
        if bound is not None and index == 0:
            low = float(bound.reshape(-1)[0])
        elif bound is not None:
            high = float(bound.reshape(-1)[0])
    if low is None or high is None:
        operator, bound = (relax.op.minimum, high) if low is None else (relax.op.maximum, low)
        if bound == 0.0 and high is None:
            return relax.op.nn.relu(inputs[0])
        return None if bound is None else operator(inputs[0], relax.const(np.float32(bound)))
    return relax.op.clip(inputs[0], low, high)


def identifier(name: str) -> str:
    """A name of a file's as that of a variable."""
    cleaned = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    return cleaned if cleaned and not cleaned[0].isdigit() else f"node_{cleaned}"


def import_graph(normalized: Normalized) -> tuple[IRModule, dict[str, str]]:
    """(the module, the file's node by the name of a variable) of a normalized model.

    Raises
    ------
    FrontendError
        for what the importer refuses.
    GraphError
        for shapes that are not static.
    """
    model, importer = normalized.model, _Importer(normalized.softmaxes)
    opset = next(entry.version for entry in model.opset_import if entry.domain == "")
    with (
        refusing(lambda e: f"{importer.node or 'its inputs'} cannot be imported: {first_line(e)}"),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        mod = importer.from_onnx(model.graph, opset)
    return _named(mod, importer.nodes)


def _named(mod: IRModule, nodes: dict[str, str]) -> tuple[IRModule, dict[str, str]]:
    """With a node's name on its product, and constants that are moved as constants."""
    graph = Graph(mod)
    names = _names(graph, nodes)
    origins: dict[str, str] = {}

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        if not isinstance(graph.value[var], relax.TupleGetItem) and not _is_static(var):
            raise GraphError(
                f"{names[var][1]}: its result has no static shape, {var.ty}; fix the shapes of the "
                "inputs (--shape), or export without what depends on values"
            )
        moved = constant(graph, var) if is_tensor(var) else None
        if moved is not None and moved.scale is None and op_name(graph.value[var]) is not None:
            values[var] = relax.const(moved.values, dtype_of(var))
            return
        made = builder.emit(substitute(graph.value[var], values), names[var][0])
        values[var] = made
        origins.setdefault(made.name, names[var][1])

    return replace_function(mod, "main", rebuild(graph, emit)), origins


def _is_static(var: relax.Var) -> bool:
    if isinstance(var.ty, relax.TupleType):
        return all(
            isinstance(field, relax.TensorType) and isinstance(field.shape, relax.ShapeExpr)
            for field in var.ty.fields
        )
    return is_tensor(var)


def _names(graph: Graph, nodes: dict[str, str]) -> dict[relax.Var, tuple[str, str]]:
    """(name, node) of every variable. Those of one node are in a row, the named one last."""
    names: dict[relax.Var, tuple[str, str]] = {}
    waiting: list[relax.Var] = []
    for var in graph.order:
        waiting.append(var)
        if var.name not in nodes:
            continue
        node = nodes[var.name]
        products = [item for item in waiting if op_name(graph.value[item]) in _PRODUCTS]
        for item in waiting:
            kind = (op_name(graph.value[item]) or "item").rsplit(".", 1)[-1]
            is_main = item is products[-1] if products else item is var
            suffix = "" if is_main else "_biased" if item is var else f"_{kind}"
            names[item] = (f"{identifier(node)}{suffix}", node)
        waiting = []
    for item in waiting:
        names[item] = (item.name, item.name)
    return names
