"""What a calibration found, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from .experiments import LAYERS
from .measurements import Measurements
from .result import Compared, Result
from .told_apart import Change

# By so much layers are farther off only if the fit is wrong.
_WORSE = 0.005


def print_result(console: Console, measurements: Measurements, result: Result) -> None:
    """Fields, errors by group and by layer, and what there is to say of them."""
    parts: list[RenderableType] = [Text(_measured(measurements))]
    if result.changes:
        parts.append(_fields(result))
        parts += [Text(line) for change in result.changes for line in _instead(change)]
    else:
        parts.append(Text("No field with another value explains more than chance would."))
    if result.untouched:
        parts.append(Text(f"Nothing that was measured depends on: {', '.join(result.untouched)}."))
    parts.append(_errors(result.compared))
    parts += [Text(line) for line in _warnings(result.compared)]
    console.print(Group(*parts))


def _measured(measurements: Measurements) -> str:
    done = len(measurements.measured())
    text = f"{done} of {len(measurements.experiments)} programs measured, {measurements.runs} runs"
    spread = measurements.spread()
    if spread is None:
        return f"{text}; each once, so that nothing is known of how far they differ (--repeat)."
    return f"{text}, which differ by {_percent(spread)} from run to run."


def _fields(result: Result) -> Table:
    table = Table(title="What explains the difference", title_justify="left")
    table.add_column("field")
    for column in ("now", "fitted", "as good"):
        table.add_column(column, justify="right")
    table.add_column("explains")
    for change in result.changes:
        table.add_row(
            change.field,
            f"{change.now:,}",
            f"{change.fitted:,}",
            _range(change),
            ", ".join(result.groups_of[change.field]) or "little by itself",
        )
    return table


def _range(change: Change) -> str:
    least = "any less" if change.least is None else f"{change.least:,}"
    most = "any more" if change.most is None else f"{change.most:,}"
    return least if least == most else f"{least} to {most}"


def _instead(change: Change) -> list[str]:
    return [
        f"Not told apart: instead of {change.field}, {_values(values)} explains as much."
        for values in change.instead.values()
    ]


def _values(values: Mapping[str, int]) -> str:
    return " with ".join(f"{field} {value:,}" for field, value in values.items())


def _errors(compared: Sequence[Compared]) -> Table:
    table = Table(title="Simulated against measured cycles", title_justify="left")
    table.add_column("programs")
    for column in ("", "mean before", "after", "worst before", "after"):
        table.add_column(column, justify="right")
    groups: dict[str, list[Compared]] = {}
    for one in compared:
        groups.setdefault(one.experiment.group, []).append(one)
    layers = groups.pop(LAYERS, [])
    for group, ones in groups.items():
        table.add_row(group, f"{len(ones)}", *_means_and_worst(ones))
    if layers:
        table.add_section()
        table.add_row(f"{LAYERS}, not fitted to", f"{len(layers)}", *_means_and_worst(layers))
        for one in layers:
            errors = (f"{100 * one.error_before:+.2f} %", f"{100 * one.error_after:+.2f} %")
            table.add_row(f"  {one.experiment.name}", f"{one.measured:,.0f}", *errors)
    return table


def _means_and_worst(ones: Sequence[Compared]) -> list[str]:
    before = np.abs([one.error_before for one in ones])
    after = np.abs([one.error_after for one in ones])
    return [_percent(value) for value in (before.mean(), after.mean(), before.max(), after.max())]


def _warnings(compared: Sequence[Compared]) -> list[str]:
    layers = [one for one in compared if one.experiment.is_held_out]
    if not layers:
        return [
            "No layer was measured, so nothing tells how far the fitted device is to be trusted."
        ]
    before, after = (
        float(np.mean(np.abs([getattr(one, name) for one in layers])))
        for name in ("error_before", "error_after")
    )
    if after > before + _WORSE:
        return [
            f"The layers, which nothing was fitted to, are farther off than before "
            f"({_percent(after)} instead of {_percent(before)}): do not use these values."
        ]
    return []


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
