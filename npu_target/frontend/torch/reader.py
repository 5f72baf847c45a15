"""A network from a ``.pt2`` file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tvm import relax
from tvm.ir import IRModule

from ...relax_graph import Graph, dtype_of, shape_of
from ..errors import FrontendError
from ..imported import Imported, TensorInfo
from ..layout import channels_last
from ..qdq import to_integer
from .importer import convert
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
    if converted.quantized:
        rewritten = to_integer(converted.mod)
        mod = as_pytorch(rewritten.mod)
        quantizations = rewritten.quantizations
        origins = {
            name: converted.origins.get(source, source)
            for name, source in rewritten.origins.items()
        }
    else:
        folded = relax.transform.FoldConstant()(converted.mod)
        mod = relax.transform.FoldConstant()(channels_last(folded))
        quantizations, origins = {}, dict(converted.origins)
    graph = Graph(mod)
    names = {var.name for var in (*graph.params, *graph.order)}
    return Imported(
        path.stem,
        mod,
        converted.quantized,
        tuple(TensorInfo(p.name, shape_of(p), dtype_of(p)) for p in graph.params),
        _outputs(mod, [spec.arg.name for spec in program.graph_signature.output_specs]),
        {name: numbers for name, numbers in quantizations.items() if name in names},
        {name: origin for name, origin in origins.items() if name in names},
    )


def _outputs(mod: IRModule, names: list[str]) -> tuple[TensorInfo, ...]:
    result = mod["main"].ret_ty
    fields = list(result.fields) if isinstance(result, relax.TupleType) else [result]
    return tuple(
        TensorInfo(name, tuple(int(extent) for extent in field.shape), str(field.dtype))
        for name, field in zip(names, fields, strict=True)
    )
