"""A network taken apart at the results of its layers: what each needs that no other computes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass

from tvm import relax
from tvm.ir import IRModule

from ..relax_graph import Graph, is_tensor, vars_in
from .forms import Form
from .layer import Network
from .with_forms import with_forms


@dataclass(frozen=True)
class Part:
    """``bindings``, in order, of which ``end`` is the last and what the part is for; of what is
    behind all ends it is None."""

    end: relax.Var | None
    bindings: tuple[relax.Var, ...]


def parts(graph: Graph, ends: Iterable[relax.Var]) -> list[Part]:
    """A part for each of ``ends``, in the order of the network: what it needs that no other of
    them gives and that no part before has. Then one of what is left, if there is anything."""
    ordered = sorted(ends, key=graph.position.__getitem__)
    free = set(graph.order).difference(ordered)
    found = []
    for end in ordered:
        mine = _needed(graph, end, free)
        free -= mine
        found.append(Part(end, _in_order(graph, mine)))
    return found + ([Part(None, _in_order(graph, free))] if free else [])


def part_module(network: Network, forms: Mapping[relax.Var, Form], part: Part) -> IRModule:
    """A module whose ``main`` computes a part: of what comes from others, what others need of it.

    forms : what computes a variable otherwise than the network does.
    """
    whole, own = network.graph, set(part.bindings)
    graph = copy(whole)
    graph.order = list(part.bindings)
    used = [var for binding in part.bindings for var in vars_in(whole.value[binding])]
    graph.params = list(dict.fromkeys(var for var in used if var not in own))
    results = [var for var in part.bindings if _leaves(whole, var, own)]
    graph.output = results[0] if len(results) == 1 else relax.Tuple(results)
    return with_forms(network, graph, {end: form for end, form in forms.items() if end in own})


def _needed(graph: Graph, end: relax.Var, free: Collection[relax.Var]) -> set[relax.Var]:
    """``end`` and what it needs of ``free``; with a tuple all that is taken out of it, so that no
    tuple goes from part to part."""
    found, left = {end}, list(vars_in(graph.value[end]))
    while left:
        var = left.pop()
        if var in found or var not in free:
            continue
        found.add(var)
        left += vars_in(graph.value[var])
        if not is_tensor(var):
            left += graph.users.get(var, [])
    return found


def _in_order(graph: Graph, bindings: Iterable[relax.Var]) -> tuple[relax.Var, ...]:
    return tuple(sorted(bindings, key=graph.position.__getitem__))


def _leaves(graph: Graph, var: relax.Var, own: Collection[relax.Var]) -> bool:
    """Whether something outside of a part needs it."""
    return var in graph.output_vars or any(user not in own for user in graph.users.get(var, []))
