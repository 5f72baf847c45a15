"""Finding spellings in a function: the bindings that a match replaces, and whether it may."""

from __future__ import annotations

from tvm import relax

from ..relax_graph import Graph, vars_in
from ..topi.pattern import Match, Spelling


def find(graph: Graph, spelling: Spelling, root: relax.Var) -> Match | None:
    """The match of ``spelling`` that ends at ``root``."""
    matched = graph.extract(spelling.root, root)
    if matched is None:
        return None
    parts = {
        name: matched[pattern] for name, pattern in spelling.parts.items() if pattern in matched
    }
    outside = {parts[name] for name in spelling.inputs if name in parts}
    interior: dict[relax.Var, None] = {root: None}
    pending = list(vars_in(graph.value[root]))
    while pending:
        var = pending.pop()
        if var not in outside and var not in interior and var in graph.value:
            interior[var] = None
            pending += vars_in(graph.value[var])
    ordered = tuple(sorted(interior, key=graph.position.__getitem__))
    return Match(graph, spelling, root, matched[spelling.anchor], ordered, parts)


def leak(match: Match) -> relax.Var | None:
    """A binding inside that is used outside as well, None if there is none."""
    inside = set(match.interior)
    for var in match.interior:
        if var == match.root:
            continue
        users = match.graph.users.get(var, [])
        if var in match.graph.output_vars or any(user not in inside for user in users):
            return var
    return None
