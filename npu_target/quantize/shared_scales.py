"""One scale for tensors that are joined, where that costs none of them anything."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tvm import relax

from ..relax_graph import Graph
from .plan import Kind, Step


def share_scales(graph: Graph, steps: Sequence[Step], scales: dict[relax.Var, float]) -> None:
    """Give what is only joined with others the scale of the result.

    What has other users, too, or ends where a ReLU cuts it off, keeps its own and is rescaled
    before it is joined. The last joins come first: theirs are the scales of those that they join.
    """
    by_root = {step.root: step for step in steps}
    for step in reversed(steps):
        if step.kind is Kind.JOIN:
            for var in step.inputs:
                source = _decided_by(graph, by_root, var)
                if source is not None:
                    scales[source] = scales[step.root]


def _decided_by(
    graph: Graph, by_root: Mapping[relax.Var, Step], var: relax.Var
) -> relax.Var | None:
    """The variable whose scale a joined one has, if nobody else uses what has it."""
    while graph.sole_user(var) is not None:
        step = by_root.get(var)
        if step is None or step.kind is not Kind.SAME_SCALE:
            cut = step is not None and step.relu is not None and math.isfinite(step.relu)
            return None if cut else var
        (var,) = step.inputs
    return None
