"""Post-training quantization: a float32 Relax function becomes an integer one.

Everything is symmetric int8 with one scale a tensor, weights included, because the device has
one scale a store. Which scales these may be is the device's, too. Biases are int32 in the scale
of the products they are added to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ..decompose import decompose_float
from ..device.requantize import RequantizeRule
from ..device.scale_rule import ScaleRule
from ..relax_graph import Graph, replace_function
from .calibrate import QuantizeError
from .emitter import Emitter, QuantizeOptions
from .fold import fold_batch_norm
from .kept_ranges import ranges_of
from .plan import Kind, Step, make_plan
from .shared_scales import share_scales

_FLOAT32_SCALES = ScaleRule()


@dataclass(frozen=True)
class Quantized:
    """An integer network.

    ``mod``: the same arguments and outputs as the float module, int8 inside. ``parameters``: for
    each operation, by the name of its binding, its numbers as plain NumPy values: ``weight``
    (int8), ``bias`` (int32, one a channel), ``scale`` (float32); ``multiplier_a``,
    ``multiplier_b`` (int32) and ``scale`` for an addition, ``factor`` (int32) and ``scale`` for an
    average; ``quantize_NAME`` and
    ``dequantize_NAME`` hold the ``scale`` by which a value enters and leaves int8. ``scales``:
    what one step of int8 is worth, by tensor. ``variables``: the names of the variables that hold
    a tensor of ``scales``, in what `float_form` makes of the float module and in ``mod``.
    """

    mod: IRModule
    parameters: Mapping[str, Mapping[str, np.ndarray]]
    scales: Mapping[str, float]
    variables: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def quantize(
    mod: IRModule,
    inputs: Sequence[np.ndarray | Sequence[np.ndarray]],
    options: QuantizeOptions | None = None,
    rule: RequantizeRule = _FLOAT32_SCALES,
    progress: Callable[[int], None] = lambda done: None,
) -> Quantized:
    """Quantize function ``main`` of ``mod``, whose weights must be constants.

    ``inputs``: calibration inputs, each the list of ``main``'s arguments (or the only argument),
    taken one after the other; ``progress`` is called with how many are done. The ranges of the same
    network on the same inputs are kept (:mod:`~npu_target.quantize.kept_ranges`).
    ``rule``: how the device that computes it makes int8 of its sums; where that takes powers of
    two only, the scales of all tensors are.
    Operations that have no integer form stay float, between dequantize and quantize.

    Raises :class:`QuantizeError` for inputs that do not fit ``main``, unknown ``keep_float``
    names and values that are not finite; :class:`~npu_target.relax_graph.GraphError` for a
    function that is not a straight line.
    """
    options = options or QuantizeOptions()
    mod = float_form(mod)
    graph = Graph(mod)
    unknown = options.keep_float - {var.name for var in graph.order}
    if unknown:
        raise QuantizeError(f"keep_float names bindings that are not there: {sorted(unknown)}")
    steps = make_plan(graph, options.keep_float)
    observers = ranges_of(mod, graph, _observed(graph, steps), inputs, progress)
    scales = {
        var: seen.scale(options.activations, rule.powers_of_two) for var, seen in observers.items()
    }
    share_scales(graph, steps, scales)
    emitter = Emitter(graph, scales, options, rule)
    made = emitter.module(steps)
    return Quantized(
        replace_function(mod, graph.name, made),
        emitter.parameters,
        emitter.tensor_scales(),
        emitter.variables(),
    )


def float_form(mod: IRModule) -> IRModule:
    """A float module as it is quantized: batch norms folded, operators in those that devices
    have."""
    return decompose_float(fold_batch_norm(mod))


def _observed(graph: Graph, steps: Sequence[Step]) -> list[relax.Var]:
    """Variables that need a range: inputs of integer steps that come from float ones, and
    results of integer steps that have a scale of their own."""
    integer: set[relax.Var] = set()
    observed: dict[relax.Var, None] = {}
    for step in steps:
        if step.kind is Kind.FLOAT:
            continue
        observed.update(dict.fromkeys(var for var in step.inputs if var not in integer))
        integer.update(step.inputs)
        integer.add(step.root)
        if step.kind is not Kind.SAME_SCALE:
            observed[step.root] = None
    return list(observed)
