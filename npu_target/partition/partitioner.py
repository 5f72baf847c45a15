"""An integer Relax function split between the device and the host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import IRModule
from tvm.tirx import PrimFunc

from ..decompose import decompose_integer
from ..device import DeviceConfig, kind_of
from ..integer import operation_of
from ..relax_graph import (
    Graph,
    copy_binding,
    dtype_of,
    is_tensor,
    op_name,
    rebuild,
    replace_function,
    shape_of,
    substitute,
    vars_in,
)
from ..topi import Operator, operators_of
from ..topi.fitting import fitted
from ..topi.pattern import Accepted, Match, Spelling
from .checks import check
from .host_reasons import host_reason
from .match import find

# Attribute of a region's PrimFunc: the region's name.
REGION_ATTRIBUTE = "npu.region"

_ASKED_FOR = "asked for: host"

Lowering = Callable[[Operator, DeviceConfig], PrimFunc]


@dataclass(frozen=True)
class Region:
    """A piece of the network that the device computes in one kernel.

    ``name``: unique, after the layer; also the name of the region's function in the module.
    ``operator``: what it computes. ``inputs``: the names of its arguments in call order, a
    constant's with ``constant:`` before the argument's role (``constant:weight``). ``macs``: the
    network's multiply-accumulates in it; the operator's may be more, of what it is padded with.
    """

    name: str
    operator: Operator
    inputs: tuple[str, ...]
    macs: int

    @property
    def op(self) -> str:
        """The operator's name, such as ``conv2d``."""
        return self.operator.op

    @property
    def attrs(self) -> dict[str, Any]:
        """The operator's attributes as plain JSON values."""
        return self.operator.attrs()


@dataclass(frozen=True)
class Decision:
    """Where one operation of the integer function runs, and why.

    ``op`` without ``relax.``; ``name`` of its binding; ``result`` as dtype and shape; ``region``:
    the region that it became part of, None on the host; ``inputs``: the places, among a network's
    decisions, of those whose results it takes.
    """

    op: str
    name: str
    result: str
    region: str | None
    reason: str
    inputs: tuple[int, ...] = ()

    @property
    def where(self) -> str:
        """``"device"`` or ``"host"``."""
        return "host" if self.region is None else "device"


@dataclass(frozen=True)
class Partitioned:
    """``mod``: ``main`` calls each region by ``call_tir`` and computes the rest itself."""

    mod: IRModule
    regions: tuple[Region, ...]
    decisions: tuple[Decision, ...]


def topi_lowering(operator: Operator, config: DeviceConfig) -> PrimFunc:
    """The unscheduled compute definition of the operator's kernel."""
    return operator.kernel().prim_func(config)


def partition(
    mod: IRModule,
    config: DeviceConfig,
    lower: Lowering = topi_lowering,
    host: Collection[str] = (),
    reasons: Mapping[str, str] | None = None,
    remarks: Mapping[str, str] | None = None,
) -> Partitioned:
    """Replace every part of ``main`` that the device has an operation for.

    A region becomes ``call_tir`` of the PrimFunc that ``lower`` gives for its operator, with the
    arguments of ``operator.kernel()``; weights and biases are passed as constants, laid out as
    the kernel takes them. ``lower`` must keep the kernel's argument shapes. ``host`` names the
    bindings of operations that shall stay on the host, such as a convolution's; ``reasons`` says of
    bindings, by their names, why they run there if they do; ``remarks``, what else there is to say
    of their regions.

    Raises :class:`~npu_target.relax_graph.GraphError` if ``main`` is not a straight line.
    """
    mod = decompose_integer(mod, config)
    graph = Graph(mod)
    spellings = _spellings(config)
    accepted, refusals = _choose(graph, spellings, config, host)
    taken = {var.name_hint for var in mod.get_global_vars()}
    names = _region_names(accepted, taken)
    emitter = _Emitter(graph, config, lower, accepted, names)
    result = replace_function(mod, graph.name, emitter.functions())
    replaced = {var for match, _ in accepted.values() for var in match.interior}
    for var in graph.order:
        known = (reasons or {}).get(var.name)
        if known is not None:
            refusals[var] = known
        elif var not in refusals and var not in replaced:
            refusals[var] = host_reason(graph, var, spellings, kind_of(config).numbers)
    decisions = _decisions(mod, graph, accepted, names, refusals, remarks or {})
    return Partitioned(result, tuple(emitter.regions), tuple(decisions))


def _choose(
    graph: Graph,
    spellings: Mapping[Spelling, Sequence[type[Operator]]],
    config: DeviceConfig,
    host: Collection[str],
) -> tuple[dict[relax.Var, tuple[Match, Accepted]], dict[relax.Var, str]]:
    """Regions by the variable they end at, and for the anchors of refused ones the reason.

    Going backwards, the longest spelling of a region is met first: with its ReLU, if it has one.
    Where an anchor is of a shorter region then, as of one that ends in sums, the reason is that of
    the variable at which the refused one ends.
    """
    accepted: dict[relax.Var, tuple[Match, Accepted]] = {}
    reasons: dict[relax.Var, str] = {}
    refused: dict[relax.Var, relax.Var] = {}  # the ends of the longest ones
    taken: set[relax.Var] = set()
    for root in reversed(graph.order):
        if root in taken:
            continue
        for spelling, operators in spellings.items():
            match = find(graph, spelling, root)
            if match is None or not taken.isdisjoint(match.interior):
                continue
            is_for_host = match.anchor.name in host
            outcome = _ASKED_FOR if is_for_host else _first(match, operators, config)
            if isinstance(outcome, str):
                reasons.setdefault(match.anchor, outcome)
                refused.setdefault(match.anchor, root)
                continue
            accepted[root] = (match, outcome)
            taken.update(match.interior)
            break
    for anchor, root in refused.items():
        if anchor in taken:
            reason = reasons.pop(anchor)
            if root not in taken:
                reasons[root] = f"not together with {anchor.name}: {reason}"
    return accepted, reasons


def _spellings(config: DeviceConfig) -> dict[Spelling, list[type[Operator]]]:
    """The spellings of a device's operators, and for each the operators that have it."""
    numbers = kind_of(config).numbers
    found: dict[Spelling, list[type[Operator]]] = {}
    for operator in operators_of(config):
        for spelling in operator.spellings(numbers):
            found.setdefault(spelling, []).append(operator)
    return found


def _first(
    match: Match, operators: Sequence[type[Operator]], config: DeviceConfig
) -> Accepted | str:
    """What the first operator that takes a match makes of it, else the first reason."""
    reasons = []
    for operator in operators:
        outcome = check(match, operator, config)
        if isinstance(outcome, Accepted):
            return outcome
        if outcome is not None:
            reasons.append(outcome)
    return reasons[0] if reasons else "no operator of the device is of this form"


def _region_names(
    accepted: dict[relax.Var, tuple[Match, Accepted]], taken: set[str]
) -> dict[relax.Var, str]:
    """A name for each region, after its anchor, different from every function in the module."""
    names: dict[relax.Var, str] = {}
    taken = set(taken)
    for root in reversed(accepted):
        base = accepted[root][0].anchor.name
        name, count = base, 1
        while name in taken:
            name, count = f"{base}_{count}", count + 1
        taken.add(name)
        names[root] = name
    return names


class _Emitter:
    """Emits ``main`` anew with a call for each region."""

    def __init__(
        self,
        graph: Graph,
        config: DeviceConfig,
        lower: Lowering,
        accepted: dict[relax.Var, tuple[Match, Accepted]],
        names: dict[relax.Var, str],
    ) -> None:
        self.regions: list[Region] = []
        self._graph = graph
        self._config = config
        self._lower = lower
        self._accepted = accepted
        self._names = names
        self._replaced = {var for match, _ in accepted.values() for var in match.interior}

    def functions(self) -> IRModule:
        """A module with the new ``main`` and one PrimFunc a region."""
        return rebuild(self._graph, self._emit)

    def _emit(
        self, builder: relax.BlockBuilder, var: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> None:
        if var in self._accepted:
            values[var] = self._region(builder, var, values)
        elif var not in self._replaced:
            copy_binding(builder, var, values, self._graph)

    def _region(
        self, builder: relax.BlockBuilder, root: relax.Var, values: dict[relax.Var, relax.Expr]
    ) -> relax.Expr:
        name, accepted = self._names[root], self._accepted[root][1]
        operator = fitted(accepted.operator, self._config)
        *input_args, output_arg = operator.kernel().args
        function = self._lower(operator, self._config)
        function = function.with_attr({"global_symbol": name, REGION_ATTRIBUTE: name})
        target = builder.add_func(function, name)
        arguments, inputs = [], []
        own, padded = accepted.operator.args, operator.args
        for value, before, after, arg in zip(
            accepted.arguments, own[:-1], padded[:-1], input_args, strict=True
        ):
            if isinstance(value, np.ndarray):
                array = np.pad(value.reshape(before.shape), _widths(before.shape, after.shape))
                arguments.append(relax.const(np.ascontiguousarray(array.reshape(arg.shape))))
                inputs.append(f"constant:{arg.name}")
            else:
                given = substitute(value, values)
                if before.shape != after.shape:
                    given = _reshaped(builder, given, before.shape)
                    given = _padded(builder, given, after.shape)
                arguments.append(_reshaped(builder, given, arg.shape))
                inputs.append(value.name)
        self.regions.append(Region(name, operator, tuple(inputs), accepted.operator.macs))
        out_type = relax.TensorType(output_arg.shape, output_arg.dtype)
        result = builder.emit(relax.call_tir(target, arguments, out_type), f"{name}_out")
        if own[-1].shape != padded[-1].shape:
            result = _cropped(builder, _reshaped(builder, result, padded[-1].shape), own[-1].shape)
        return _reshaped(builder, result, shape_of(root))


def _reshaped(builder: relax.BlockBuilder, value: relax.Expr, shape: tuple[int, ...]) -> relax.Expr:
    if shape_of(value) == shape:
        return value
    return builder.emit(relax.op.reshape(value, shape), f"{value.name}_reshaped")


def _widths(before: tuple[int, ...], after: tuple[int, ...]) -> list[tuple[int, int]]:
    """How much is added at both ends of each dimension."""
    return [(0, large - small) for small, large in zip(before, after, strict=True)]


def _padded(builder: relax.BlockBuilder, value: relax.Expr, shape: tuple[int, ...]) -> relax.Expr:
    """With zeros behind the ends of its dimensions."""
    widths = [width for pair in _widths(shape_of(value), shape) for width in pair]
    zeros = relax.op.nn.pad(value, widths, pad_value=0)
    return builder.emit(zeros, f"{value.name}_padded")


def _cropped(builder: relax.BlockBuilder, value: relax.Expr, shape: tuple[int, ...]) -> relax.Expr:
    """Without what is behind these ends of its dimensions."""
    axes = list(range(len(shape)))
    part = relax.op.strided_slice(value, axes, [0] * len(shape), list(shape))
    return builder.emit(part, f"{value.name}_cropped")


def _decisions(
    mod: IRModule,
    graph: Graph,
    accepted: dict[relax.Var, tuple[Match, Accepted]],
    names: dict[relax.Var, str],
    reasons: dict[relax.Var, str],
    remarks: Mapping[str, str],
) -> list[Decision]:
    region_of = {}
    for root, (match, found) in accepted.items():
        said = [remarks[var.name] for var in match.interior if var.name in remarks]
        text = "; ".join([describe(found.operator), *said])
        region_of.update(dict.fromkeys(match.interior, (names[root], text)))
    decisions = []
    for var in graph.order:
        region, reason = region_of.get(var, (None, ""))
        if region is None:
            reason = reasons[var]
        named = operation_of(mod, graph.value[var])
        op = named[0].op if named else op_name(graph.value[var]) or type(graph.value[var]).__name__
        result = f"{dtype_of(var)} {'x'.join(map(str, shape_of(var)))}" if is_tensor(var) else ""
        inputs = tuple(
            graph.position[used] for used in vars_in(graph.value[var]) if used in graph.position
        )
        op = op.removeprefix("relax.")
        decisions.append(Decision(op, var.name, result, region, reason, inputs))
    return decisions


def describe(operator: Operator) -> str:
    """What a region does, in words: ``conv2d + bias + requantize + relu``."""
    words = [operator.op]
    if getattr(operator, "bias", False):
        words.append("bias")
    if getattr(operator, "sums", False):
        words.append("sums as they are")
    elif hasattr(operator, "scale"):
        words.append("requantize")
    if getattr(operator, "relu", False):
        words.append("relu")
    return " + ".join(words)
