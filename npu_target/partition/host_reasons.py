"""Why an operation that is part of no match runs on the host."""

from __future__ import annotations

from collections.abc import Iterable

from tvm import relax

from ..device.numbers import Numbers
from ..relax_graph import Graph, dtype_of, op_name
from ..topi.pattern import Spelling

_RELUS = frozenset({"relax.maximum", "relax.nn.relu"})
_CONVERSIONS = frozenset(
    {
        "relax.astype",
        "relax.multiply",
        "relax.round",
        "relax.clip",
        "relax.right_shift",
        "relax.left_shift",
        "relax.quantize",
        "relax.dequantize",
    }
)
_MOVES = frozenset(
    {
        "relax.broadcast_to",
        "relax.concat",
        "relax.expand_dims",
        "relax.flatten",
        "relax.flip",
        "relax.nn.pad",
        "relax.permute_dims",
        "relax.repeat",
        "relax.reshape",
        "relax.split",
        "relax.squeeze",
        "relax.strided_slice",
        "relax.take",
        "relax.tile",
    }
)


def host_reason(
    graph: Graph, var: relax.Var, spellings: Iterable[Spelling], numbers: Numbers
) -> str:
    """One sentence for the binding of ``var``; ``spellings`` are those of the device's
    operators."""
    call = graph.value[var]
    name = op_name(call)
    if name is None:
        return "no operation of the device: kept as it is"
    if name == "relax.call_tir":
        return "no operation of the device: a function of the host computes it"
    if name in _MOVES or (
        name == "relax.image.resize2d" and str(call.attrs.method) == "nearest_neighbor"
    ):
        return "moves data only"
    if name == "relax.multiply" and all(isinstance(arg, relax.Var) for arg in call.args):
        return "the device multiplies no two tensors element by element"
    if name in _CONVERSIONS:
        return _conversion_reason(graph, var, numbers)
    if name in _RELUS:
        return "ReLU with no device operation right before it"
    mine = [spelling for spelling in spellings if spelling.op == name]
    if not mine:
        return f"the device has no operation for {name.removeprefix('relax.')}"
    element, total = numbers.element, numbers.sum
    operand_dtypes = [dtype_of(arg) for arg in call.args if dtype_of(arg)]
    wrong = next((dtype for dtype in operand_dtypes if dtype not in (element, total)), None)
    if wrong is not None:
        return f"computes {wrong}, the device computes {element}"
    if dtype_of(var) != total and all(spelling.anchor_dtype == total for spelling in mine):
        return f"sums in {dtype_of(var)}, the device sums in {total} (out_dtype)"
    return f"its {total} result is not requantized to {element} as the device does it"


def _conversion_reason(graph: Graph, var: relax.Var, numbers: Numbers) -> str:
    """Of a chain of conversions: between which two types."""
    element, total = numbers.element, numbers.sum
    source: relax.Expr = graph.value[var].args[0]
    while dtype_of(source) == "float32" and op_name(graph.producer(source)) in _CONVERSIONS:
        source = graph.producer(source).args[0]
    if dtype_of(source) == total:
        return "requantizes sums on the host"
    if dtype_of(source) == element:
        return f"{element} to float32: dequantizes for the host"
    result: relax.Var | None = var
    while result is not None and dtype_of(result) != element:
        result = graph.sole_user(result)
        if result is not None and op_name(graph.value[result]) not in _CONVERSIONS:
            result = None
    if result is not None:
        return f"float32 to {element}: quantizes for the device"
    return f"computes {dtype_of(var)}, the device computes {element}"
