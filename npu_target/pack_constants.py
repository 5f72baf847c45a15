"""Constants of a network in the layouts that its kernels' schedules ask for, when it is built.

A scheduled function says by its marks how its weights lie (:mod:`npu_target.passes.packings`) and
reads them as its operator has them. In a Relax module the two have to agree: Relax compares a
kernel's parameters with the arguments of its calls. So here a kernel with packed weights becomes a
*laid-out* one, whose parameters have the packed shapes and which carries the schedule along, and
the constants are permuted, once.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm import relax, tirx
from tvm.ir import IRModule
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from .packing import Packing, Pad, Reshape
from .passes.errors import CodegenError
from .passes.packings import packings
from .relax_graph import Graph, constant_of, copy_binding, op_name, rebuild, substitute
from .target import config_of

_SCHEDULED = "npu.scheduled"
_KIND = "ext_dev"


def pack_constants(mod: IRModule) -> IRModule:
    """A partitioned, scheduled module whose ``main`` hands each kernel its weights as it wants
    them.

    Raises
    ------
    CodegenError
        where what is to be packed is no constant, and the device would take it as it is.
    """
    layouts: dict[str, dict[str, Packing]] = {}
    for var, func in mod.functions.items():
        target = func.attrs.get("target") if func.attrs else None
        if isinstance(func, tirx.PrimFunc) and target is not None and target.kind.name == _KIND:
            found = packings(func, config_of(target))
            if found:
                layouts[var.name_hint] = found
    if not layouts:
        return mod
    graph = Graph(mod)

    def emit(
        builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        call = graph.value[var]
        name = call.args[0].name_hint if op_name(call) == "relax.call_tir" else ""
        if name not in layouts:
            copy_binding(builder, var, values, graph)
            return
        func = mod[name]
        names = [str(param.name) for param in func.params]
        target = builder.add_func(laid_out(func, layouts[name]), name)
        arguments = [
            _packed(
                builder,
                substitute(argument, values),
                layouts[name].get(parameter),
                f"{name}: argument {parameter}",
            )
            for parameter, argument in zip(names, call.args[1].fields, strict=False)
        ]
        values[var] = builder.emit(relax.call_tir(target, arguments, call.ty_args[0]), var.name)

    made = rebuild(graph, emit)
    kept = {
        var: func
        for var, func in mod.functions.items()
        if var.name_hint not in layouts and var.name_hint != graph.name
    }
    return IRModule({**kept, **dict(made.functions.items())}, attrs=mod.attrs)


def laid_out(func: tirx.PrimFunc, layouts: Mapping[str, Packing]) -> tirx.PrimFunc:
    """A function with the attributes of a scheduled one, and the parameters that its program has:
    those in ``layouts`` are packed."""
    with IRBuilder() as builder:
        with T.prim_func(s_tir=True):
            for param in func.params:
                name = str(param.name)
                shape = layouts[name].packed_shape if name in layouts else param.shape
                T.arg(name, T.Buffer(shape, str(param.dtype)))
            T.evaluate(0)
    return builder.get().with_attr({**dict(func.attrs.items()), _SCHEDULED: func})


def scheduled(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """The scheduled function that a laid-out one carries; any other one itself."""
    return func.attrs.get(_SCHEDULED, func) if func.attrs else func


def _packed(
    builder: relax.BlockBuilder, argument: relax.Expr, packing: Packing | None, owner: str
) -> relax.Expr:
    if packing is None:
        return argument
    array = constant_of(argument)
    if array is not None:
        return relax.const(packing.pack(array))
    if not packing.transposed:
        raise CodegenError(f"{owner} is no constant: its schedule must not pack it")
    return _packed_by_host(builder, argument, packing)


def _packed_by_host(
    builder: relax.BlockBuilder, argument: relax.Expr, packing: Packing
) -> relax.Expr:
    """What the network computes in a layout without which the device cannot take it."""
    for step in packing.steps:
        if isinstance(step, Pad):
            widths = [width for pair in step.widths for width in pair]
            if not any(widths):
                continue
            argument = relax.op.nn.pad(argument, widths, pad_value=0)
        elif isinstance(step, Reshape):
            argument = relax.op.reshape(argument, step.shape)
        else:
            argument = relax.op.permute_dims(argument, step.axes)
        argument = builder.emit(argument)
    return argument
