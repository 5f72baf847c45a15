"""A network as a column of parts in the order in which they run, with rails for its edges.

A value runs on a rail of its own from the part that makes it to the last one that takes it, so that
edges cross nothing but rails: readable at any width, for chains and for branches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..partition.explain import counted, groups
from ..partition.partitioner import Decision

# More rails than a narrow screen has room for share the last one.
MOST_RAILS = 8


def graph_rows(
    decisions: Sequence[Decision], layers: Mapping[str, int], cycles: Mapping[str, int]
) -> list[dict[str, Any]]:
    """A row for each device region and each run of host operations with one reason.

    layers : the numbers of regions' layers, by the region's name. cycles : of regions, where known.

    `rail` is the row's own. `through`, `into`, `out` : the rails that pass it, that end in it or
    branch off to it, and whether its result is taken further down.
    """
    members = groups(decisions)
    row_of = {id(decision): row for row, group in enumerate(members) for decision in group}
    taken: list[set[int]] = []
    for row, group in enumerate(members):
        sources = (row_of[id(decisions[place])] for each in group for place in each.inputs)
        taken.append({source for source in sources if source < row})
    last = {source: row for row, sources in enumerate(taken) for source in sources}
    rails: dict[int, int] = {}  # of values that are still taken, by the row that makes them
    rows = []
    for row, group in enumerate(members):
        before = dict(rails)
        for source in taken[row]:
            if last[source] == row:
                del rails[source]
        rail = _free(rails, before, taken[row])
        rows.append(
            {
                **_words(group, layers, cycles),
                "rail": rail,
                "through": sorted({before[source] for source in before if source in rails}),
                "into": sorted({before[source] for source in taken[row]}),
                "out": row in last,
            }
        )
        if row in last:
            rails[row] = rail
    return rows


def _free(rails: Mapping[int, int], before: Mapping[int, int], sources: set[int]) -> int:
    """That of a value which ends here, else the first one that nobody uses."""
    used = set(rails.values())
    own = [before[source] for source in sources if before[source] not in used]
    unused = next(rail for rail in range(len(used) + 1) if rail not in used)
    return min([*own, min(unused, MOST_RAILS - 1)])


def _words(
    group: Sequence[Decision], layers: Mapping[str, int], cycles: Mapping[str, int]
) -> dict[str, Any]:
    last = group[-1]
    is_device = last.region is not None
    name = last.region if last.region is not None else group[0].name
    return {
        "where": last.where,
        "name": name,
        "operations": " + ".join(counted(decision.op for decision in group)),
        "result": last.result,
        "why": f"the device computes {last.reason}" if is_device else last.reason,
        "layer": layers.get(name) if is_device else None,
        "cycles": cycles.get(name) if is_device else None,
    }
