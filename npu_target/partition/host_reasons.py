"""Why an operation that is part of no match runs on the host."""

from __future__ import annotations

from tvm import relax

from ..relax_graph import Graph, dtype_of, op_name

_PRODUCTS = frozenset({"relax.nn.conv2d", "relax.matmul"})
_DEVICE_OPS = _PRODUCTS | {"relax.add", "relax.nn.max_pool2d", "relax.sum"}
_RELUS = frozenset({"relax.maximum", "relax.nn.relu"})
_CONVERSIONS = frozenset(
    {
        "relax.astype",
        "relax.multiply",
        "relax.round",
        "relax.clip",
        "relax.quantize",
        "relax.dequantize",
    }
)
_MOVES = frozenset(
    {
        "relax.reshape",
        "relax.permute_dims",
        "relax.flatten",
        "relax.squeeze",
        "relax.expand_dims",
        "relax.concat",
        "relax.split",
        "relax.strided_slice",
    }
)


def host_reason(graph: Graph, var: relax.Var) -> str:
    """One sentence for the binding of ``var``."""
    call = graph.value[var]
    name = op_name(call)
    if name is None:
        return "no operation of the device: kept as it is"
    if name in _MOVES:
        return "moves data only"
    if name in _CONVERSIONS:
        return _conversion_reason(graph, var)
    if name in _RELUS:
        return "ReLU with no device operation right before it"
    if name not in _DEVICE_OPS:
        return f"the device has no operation for {name.removeprefix('relax.')}"
    operand_dtypes = [dtype_of(arg) for arg in call.args if dtype_of(arg)]
    wrong = next((dtype for dtype in operand_dtypes if dtype not in ("int8", "int32")), None)
    if wrong is not None:
        return f"computes {wrong}, the device computes int8"
    if name in _PRODUCTS and dtype_of(var) != "int32":
        return f"sums in {dtype_of(var)}, the device sums in int32 (out_dtype)"
    return "its int32 result is not requantized to int8 as the device does it"


def _conversion_reason(graph: Graph, var: relax.Var) -> str:
    """Of a chain of conversions: between which two types."""
    source: relax.Expr = graph.value[var].args[0]
    while dtype_of(source) == "float32" and op_name(graph.producer(source)) in _CONVERSIONS:
        source = graph.producer(source).args[0]
    if dtype_of(source) == "int32":
        return "requantizes what the host computed"
    if dtype_of(source) == "int8":
        return "int8 to float32: dequantizes for the host"
    result: relax.Var | None = var
    while result is not None and dtype_of(result) != "int8":
        result = graph.sole_user(result)
        if result is not None and op_name(graph.value[result]) not in _CONVERSIONS:
            result = None
    if result is not None:
        return "float32 to int8: quantizes for the device"
    return f"computes {dtype_of(var)}, the device computes int8"
