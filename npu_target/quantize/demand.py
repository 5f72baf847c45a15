"""Which tensors of a float network nobody wants in float: what may become int8 without a loss
beside the one that follows anyway."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from ..relax_graph import Graph

# Whether a binding takes its tensors in int8: always, never, or where its result is wanted so.
Takes = Callable[[relax.Var], bool | None]


def wanted_in_int8(graph: Graph, takes: Takes) -> frozenset[relax.Var]:
    """The variables all of whose users take them in int8."""
    wanted: set[relax.Var] = set()

    def is_taken(user: relax.Var) -> bool:
        answer = takes(user)
        return user in wanted if answer is None else answer

    for var in reversed([*graph.params, *graph.order]):
        users = graph.users.get(var, [])
        if users and var not in graph.output_vars and all(map(is_taken, users)):
            wanted.add(var)
    return frozenset(wanted)
