"""A sweep as a table, as JSON, and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ..files import open_atomically
from ..tuning.errors import TuningError
from .devices import Point
from .pareto import pareto_front
from .results import DeviceResult


def print_sweep(
    console: Console, model: str, points: Sequence[Point], results: Sequence[DeviceResult]
) -> None:
    """A line a device, smallest first; those on the Pareto front are marked. What is no device, or
    cannot run the network, is below with the reason."""
    front = pareto_front(results)
    names = list(points[0].numbers)
    table = Table(
        title=f"{model}: devices by their area",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    is_tuned = any(each.trials for each in results)
    cycles = ("default", "tuned", "speedup") if is_tuned else ("cycles",)
    for heading in (*names, "area\nmm2", *cycles, "ms", "array\nuse", ""):
        table.add_column(heading, justify="right")
    able = sorted((each for each in results if each.layers), key=lambda each: each.area_mm2)
    least_on_host = min((each.host_operations for each in able), default=0)
    for each in able:
        table.add_row(
            *(str(each.numbers[name]) for name in names),
            f"{each.area_mm2:.2f}",
            *((f"{each.default_cycles:,}",) if is_tuned else ()),
            f"{each.cycles:,}" + (" *" if each.host_operations > least_on_host else ""),
            *((f"{each.default_cycles / each.cycles:.2f}x",) if is_tuned else ()),
            f"{each.milliseconds:.2f}",
            f"{each.utilization:.1%}",
            "front" if each in front else "",
        )
    console.print(table)
    more = sorted({each.host_operations for each in able} - {least_on_host})
    if more:
        console.print(
            "* without operations that others here compute: the host has "
            f"{', '.join(map(str, more))} of the network's, not {least_on_host}",
            highlight=False,
        )
    console.print(
        f"front: no smaller device is as fast{', tuned' if is_tuned else ''}. Area: array and "
        "memories, scaled from what was published of a Gemmini in 22 nm; buses and what surrounds "
        "the memories are not in it.",
        highlight=False,
    )
    for reason, number in _reasons(points, results).items():
        console.print(f"{number} left out: {reason}", highlight=False)


def _reasons(points: Sequence[Point], results: Sequence[DeviceResult]) -> dict[str, int]:
    found: dict[str, int] = {}
    for reason in [point.reason for point in points] + [each.reason for each in results]:
        if reason:
            found[reason] = found.get(reason, 0) + 1
    return found


def _by_default(results: Sequence[DeviceResult]) -> list[DeviceResult]:
    return [result.by_default() for result in results]


def to_json(model: str, points: Sequence[Point], results: Sequence[DeviceResult]) -> dict[str, Any]:
    """Everything as plain values."""
    return {
        "model": model,
        "devices": [result.to_json() for result in results],
        "front": [result.name for result in pareto_front(results)],
        "default_front": [result.name for result in pareto_front(_by_default(results))],
        "no_devices": [
            {"numbers": dict(point.numbers), "reason": point.reason}
            for point in points
            if point.config is None
        ],
    }


def plot(path: Path, model: str, results: Sequence[DeviceResult]) -> None:
    """Area against milliseconds, as a picture of the kind that the file's name says.

    Needs what `check_can_plot` asks for. Raises TuningError where the file cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.lines import Line2D
    from matplotlib.ticker import ScalarFormatter

    able = [result for result in results if result.layers]
    front = pareto_front(results)
    # Of long fronts the list is higher than the axes.
    figure, axes = pyplot.subplots(
        figsize=(10, max(5.5, 1.5 + len(front) / 5)), layout="constrained"
    )
    drawn: list[tuple[Sequence[DeviceResult], dict[str, Any]]] = []
    if any(each.trials for each in able):
        style = {"color": "0.45", "linestyle": "--", "marker": "s", "markersize": 4}
        drawn.append((_by_default(able), {**style, "label": "Pareto front, default schedules"}))
    tuned = ", tuned" if drawn else ""
    drawn.append((able, {"color": "C0", "marker": "o", "label": f"Pareto front{tuned}"}))
    for devices, look in drawn:
        axes.scatter(
            [each.area_mm2 for each in devices],
            [each.milliseconds for each in devices],
            color=look["color"],
            marker=look["marker"],
            alpha=0.5,
            s=18,
        )
        best = pareto_front(devices)
        axes.plot(
            [each.area_mm2 for each in best],
            [each.milliseconds for each in best],
            drawstyle="steps-post",
            **look,
        )
    # By numbers, since texts of points that are near would be written over each other.
    handles, _ = axes.get_legend_handles_labels()
    for number, each in enumerate(front, start=1):
        axes.annotate(
            str(number),
            (each.area_mm2, each.milliseconds),
            (5, 4),
            textcoords="offset points",
            fontsize=8,
        )
        text = ", ".join(f"{name} {value}" for name, value in each.numbers.items())
        look = {"linestyle": "none", "marker": f"${number}$", "color": "black"}
        handles.append(Line2D([], [], label=text, **look))
    axes.set(
        title=f"{model}: time and area",
        xlabel="area of array and memories, mm² in 22 nm (estimate)",
        ylabel="milliseconds on the device",
        yscale="log",
    )
    axes.margins(0.15)
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(ScalarFormatter())
    axes.grid(which="both", color="0.9")
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    try:
        with open_atomically(path) as file:
            figure.savefig(file, format=path.suffix[1:] or "svg")
    except (OSError, ValueError) as error:
        raise TuningError(f"{path} cannot be written: {error}") from error
    finally:
        pyplot.close(figure)
