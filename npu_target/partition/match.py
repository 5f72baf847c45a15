"""Finding patterns in a function: one match, its parts, and the bindings that it would replace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tvm import relax

from ..relax_graph import Graph, vars_in
from .patterns import Spelling


@dataclass(frozen=True)
class Match:
    """``spelling`` found with its root bound to ``root``.

    ``interior`` are the bindings that the region replaces, the root's included; ``parts`` the
    variables and constants at the spelling's named places.
    """

    graph: Graph
    spelling: Spelling
    root: relax.Var
    anchor: relax.Var
    interior: tuple[relax.Var, ...]
    parts: Mapping[str, relax.Expr]

    def part(self, name: str) -> relax.Expr:
        """The expression matched by a part that is in every match."""
        return self.parts[name]

    def optional(self, name: str) -> relax.Expr | None:
        """The expression matched by a part, None if this match does without it."""
        return self.parts.get(name)

    @property
    def call(self) -> relax.Call:
        """The anchor's call."""
        return self.graph.value[self.anchor]

    def leak(self) -> relax.Var | None:
        """A binding inside that is used outside as well, None if there is none."""
        inside = set(self.interior)
        for var in self.interior:
            if var == self.root:
                continue
            users = self.graph.users.get(var, [])
            if var in self.graph.output_vars or any(user not in inside for user in users):
                return var
        return None


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
