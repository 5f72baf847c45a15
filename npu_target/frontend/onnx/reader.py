"""From an .onnx file to a network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tvm import relax
from tvm.ir import IRModule

from ...integer import Quantization
from ...relax_graph import Graph, GraphError, dtype_of, shape_of
from ..errors import FrontendError
from ..imported import Imported, TensorInfo
from ..layout import channels_last
from ..qdq import to_integer
from .file import load_model
from .importer import import_graph, known_operators
from .normalize import normalize

_QUANTIZING = ("QuantizeLinear", "DequantizeLinear")


def read(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> Imported:
    """The network in an .onnx file: in integer form where it is quantized, else in float32.

    shapes : of inputs by name, for those whose extents are symbolic.

    Raises
    ------
    FrontendError
        for a file that is no model, or one that cannot be imported: which node, and what to do.
    """
    normalized = normalize(path, load_model(path), shapes, known_operators())
    model = normalized.model
    quantized = any(node.op_type in _QUANTIZING for node in model.graph.node)
    try:
        mod, origins = import_graph(normalized)
        return _imported(path, model, mod, origins, quantized)
    except (FrontendError, GraphError) as error:
        raise FrontendError(f"{path}: {error}") from error


def _imported(
    path: Path, model: Any, mod: IRModule, origins: Mapping[str, str], quantized: bool
) -> Imported:
    quantizations: Mapping[str, Quantization] = {}
    remarks: tuple[str, ...] = ()
    if quantized:
        rewritten = to_integer(mod)
        mod, quantizations, remarks = rewritten.mod, rewritten.quantizations, rewritten.remarks
        named = {name: origins.get(origin, origin) for name, origin in rewritten.origins.items()}
    else:
        mod = channels_last(mod)
        named = {var.name: origins[var.name] for var in Graph(mod).order if var.name in origins}
    constants = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in constants]
    ends = _quantized_ends(model)
    function = mod["main"]
    results = function.body.body
    fields = function.ret_ty.fields if isinstance(function.ret_ty, relax.TupleType) else None
    types = [results] if fields is None else [relax.Var("field", field) for field in fields]
    named.update((param.name, name) for param, name in zip(function.params, names, strict=True))
    return Imported(
        path.stem,
        mod,
        quantized,
        tuple(_info(name, var, ends) for name, var in zip(names, function.params, strict=True)),
        tuple(
            _info(value.name, result, ends)
            for value, result in zip(model.graph.output, types, strict=True)
        ),
        quantizations,
        named,
        remarks,
    )


def _info(name: str, expr: relax.Expr, ends: Mapping[str, Quantization]) -> TensorInfo:
    return TensorInfo(name, shape_of(expr), dtype_of(expr), ends.get(name))


def _quantized_ends(model: Any) -> dict[str, Quantization]:
    """What integers that go in or come out are worth, by name."""
    from onnx import numpy_helper

    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    found: dict[str, Quantization] = {}
    for node in model.graph.node:
        if node.op_type not in _QUANTIZING or node.input[1] not in constants:
            continue
        scale = numpy_helper.to_array(constants[node.input[1]])
        point = constants.get(node.input[2]) if len(node.input) > 2 else None
        zero = 0 if point is None else int(numpy_helper.to_array(point).reshape(-1)[0])
        if scale.size == 1:
            end = node.output[0] if node.op_type == "QuantizeLinear" else node.input[0]
            found[end] = Quantization((float(scale.reshape(-1)[0]),), (zero,))
    return found
