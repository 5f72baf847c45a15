"""What the integers at a network's ends stand for."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import relax
from tvm.ir import IRModule
from tvm.relax.dpl import DFPattern, is_const, is_op, wildcard

from ..relax_graph import Graph, constant_of, vars_in

_VALUE, _FACTOR = wildcard(), is_const()
_SCALED = is_op("relax.multiply")(_VALUE, _FACTOR)
_QUANTIZED = is_op("relax.astype")(
    is_op("relax.clip")(is_op("relax.round")(_SCALED), wildcard(), wildcard())
)
_DEQUANTIZED = is_op("relax.multiply")(is_op("relax.astype")(_VALUE), _FACTOR)


@dataclass(frozen=True)
class Scales:
    """`input_factors` : by what the host multiplies each input before it rounds to integers.
    `output_factors` : by what it multiplies the integers of each output. None where it does
    something else."""

    input_factors: tuple[float | None, ...]
    output_factors: tuple[float | None, ...]


NO_SCALES = Scales((), ())


def scales_of(mod: IRModule) -> Scales:
    """Those of a quantized module's ``main``."""
    graph = Graph(mod)
    return Scales(
        tuple(_input_factor(graph, param) for param in graph.params),
        tuple(_factor(graph, _DEQUANTIZED, var) for var in vars_in(graph.output)),
    )


def _input_factor(graph: Graph, param: relax.Var) -> float | None:
    var: relax.Var | None = param
    while (var := graph.sole_user(var)) is not None:
        factor = _factor(graph, _QUANTIZED, var, param)
        if factor is not None:
            return factor
    return None


def _factor(
    graph: Graph, pattern: DFPattern, var: relax.Var, scaled: relax.Var | None = None
) -> float | None:
    """The constant number by which a binding of this pattern multiplies, `scaled` if one is
    given."""
    matched = graph.extract(pattern, var) if var in graph.value else None
    if matched is None or (scaled is not None and matched[_VALUE] != scaled):
        return None
    factor = constant_of(matched[_FACTOR])
    return float(factor) if factor is not None and factor.ndim == 0 else None
