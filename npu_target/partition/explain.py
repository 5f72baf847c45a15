"""The table of `--explain`: for each operation where it runs and why."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from rich.console import Console
from rich.table import Table

from .partitioner import Decision, Partitioned


def explain(partitioned: Partitioned, console: Console | None = None) -> None:
    """Print the table, and a line of totals, to ``console`` (standard output by default)."""
    console = console or Console()
    console.print(decision_table(partitioned.decisions))
    console.print(summary(partitioned))


def decision_table(decisions: Iterable[Decision]) -> Table:
    """One row for each device region and one for each run of host operations with the same
    reason, in the order in which results are computed."""
    table = Table(title="Where each operation runs")
    for column in ("where", "layer", "operations", "result", "why"):
        table.add_column(column, overflow="fold")
    for group in groups(decisions):
        last = group[-1]
        if last.region is None:
            ops = " + ".join(counted(decision.op for decision in group))
            table.add_row("host", group[0].name, ops, last.result, last.reason)
            continue
        ops = f"{len(group)} operations" if len(group) > 1 else "1 operation"
        why = f"the device computes {last.reason}"
        table.add_row("device", last.region, ops, last.result, why, style="green")
    return table


def groups(decisions: Iterable[Decision]) -> list[list[Decision]]:
    """Decisions that make one row, a region standing where its last operation is."""
    ordered = list(decisions)
    last = {decision.region: decision for decision in ordered}
    groups: list[list[Decision]] = []
    for decision in ordered:
        if decision.region is not None:
            if decision is last[decision.region]:
                groups.append([member for member in ordered if member.region == decision.region])
        elif groups and (groups[-1][-1].region, groups[-1][-1].reason) == (None, decision.reason):
            groups[-1].append(decision)
        else:
            groups.append([decision])
    return groups


def counted(ops: Iterable[str]) -> list[str]:
    """Names in order, a repeated run as ``name x3``."""
    counted = []
    for name, run in groupby(ops):
        count = len(list(run))
        counted.append(name if count == 1 else f"{name} x{count}")
    return counted


def summary(partitioned: Partitioned) -> str:
    """How much of the network the device computes."""
    regions = partitioned.regions
    on_device = sum(decision.region is not None for decision in partitioned.decisions)
    macs = sum(region.macs for region in regions)
    return (
        f"{len(regions)} device regions ({on_device} of {len(partitioned.decisions)} operations, "
        f"{macs / 1e6:.1f} million multiply-accumulates); the rest runs on the host"
    )
