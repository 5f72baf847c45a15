"""A network from a ``.pt2`` file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tvm import relax
from tvm.ir import IRModule

from ...integer import Quantization
from ...relax_graph import Graph, GraphError, dtype_of, shape_of
from ..errors import FrontendError
from ..imported import Imported, TensorInfo
from ..layout import channels_last
from ..qdq import to_integer
from .importer import Converted, convert
from .program import load_program
from .quantized import as_pytorch


def read(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> Imported:
    """The network in a file that ``torch.export.save`` wrote.

    shapes : of inputs by name, for those that were exported with open extents.

    Raises
    ------
    FrontendError
        for whatever is wrong with the file, and if PyTorch is missing.
    """
    if find_spec("torch") is None:
        raise FrontendError(
            f"{path}: PyTorch is needed to read it: pip install 'npu_target[torch]'"
        )
    program = load_program(path, shapes)
    converted = convert(path, program)
    outputs = [spec.arg.name for spec in program.graph_signature.output_specs]
    try:
        return _imported(path.stem, converted, outputs)
    except (FrontendError, GraphError) as error:
        raise FrontendError(f"{path}: {error}") from error


def _imported(name: str, converted: Converted, outputs: list[str]) -> Imported:
    """A program in Relax with its images' channels last, in integers if it was quantized."""
    origins: dict[str, str] = dict(converted.origins)
    quantizations: Mapping[str, Quantization] = {}
    remarks: tuple[str, ...] = ()
    if converted.quantized:
        rewritten = to_integer(converted.mod)
        mod, remarks = as_pytorch(rewritten.mod), rewritten.remarks
        quantizations = rewritten.quantizations
        for var, source in rewritten.origins.items():
            origins[var] = converted.origins.get(source, source)
    else:
        folded = relax.transform.FoldConstant()(converted.mod)
        mod = relax.transform.FoldConstant()(channels_last(folded))
    graph = Graph(mod)
    names = {var.name for var in (*graph.params, *graph.order)}
    return Imported(
        name,
        mod,
        converted.quantized,
        tuple(TensorInfo(p.name, shape_of(p), dtype_of(p)) for p in graph.params),
        _outputs(mod, outputs),
        {var: numbers for var, numbers in quantizations.items() if var in names},
        {var: origin for var, origin in origins.items() if var in names},
        remarks,
    )


def _outputs(mod: IRModule, names: list[str]) -> tuple[TensorInfo, ...]:
    result = mod["main"].ret_ty
    fields = list(result.fields) if isinstance(result, relax.TupleType) else [result]
    return tuple(
        TensorInfo(name, tuple(int(extent) for extent in field.shape), str(field.dtype))
        for name, field in zip(names, fields, strict=True)
    )
