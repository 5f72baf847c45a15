"""`python -m benchmarks.search_curves`: how soon the search finds what it finds.

Tunes a network from nothing with several seeds and plots the best total against measurements and
seconds (matplotlib: the extra `plot`); says when each seed came within 1 % of the best total known.
`--spaces` also compares what templates and rules reach on every layer. Rewrites
`docs/results/search_curves.md` and `.png`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.places import RESULTS
from benchmarks.search_runs import Moment, SearchRun, search_from_nothing
from benchmarks.simulator_speed import machine
from npu_target.cli.errors import report_errors
from npu_target.device import preset
from npu_target.files import write_atomically
from npu_target.tuning.layers import Layer
from npu_target.tuning.models import check_model
from npu_target.tuning.network import load_network, select_layers

# From nothing, a network is to be within this of its best known total...
NEAR = 0.01
# ... after so many measurements and seconds, on two cores.
MOST_MEASUREMENTS = 300
MOST_SECONDS = 600
# Templates and rules are to be this near to each other on every layer.
NEAR_SPACES = 0.05


def first_within(run: SearchRun, target_cycles: float) -> Moment | None:
    """When a run's total first came down to the target; None where it did not."""
    return next((moment for moment in run.moments if moment.cycles <= target_cycles), None)


def curves_markdown(runs: Sequence[SearchRun], best_cycles: int) -> list[str]:
    """A line a seed, and whether the aim is met by all of them."""
    target = best_cycles * (1 + NEAR)
    lines = [
        f"Best total known: {best_cycles:,} cycles, the least of these runs and of `--best`; "
        f"within {NEAR:.0%} of it is {target:,.0f}. After 0 measurements only the default "
        "schedules are known.",
        "",
        "| seed | default schedules | after the run | above the best | measured | seconds | "
        f"within {NEAR:.0%} after |",
        "|---:|---:|---:|---:|---:|---:|---|",
    ]
    met = True
    for run in runs:
        first, last = run.moments[0], run.moments[-1]
        reached, when = first_within(run, target), "never"
        met = met and reached is not None
        if reached is not None:
            when = f"{reached.measurements} measurements, {reached.seconds:.0f} s"
            met = met and reached.measurements <= MOST_MEASUREMENTS
            met = met and reached.seconds <= MOST_SECONDS
        when = (
            f"{reached.measurements} measurements, {reached.seconds:.0f} s" if reached else "never"
        )
        lines.append(
            f"| {run.seed} | {first.cycles:,} | {last.cycles:,} | "
            f"{last.cycles / best_cycles - 1:.1%} | {run.measured} | {last.seconds:.0f} | {when} |"
        )
    aim = f"within {NEAR:.0%} after at most {MOST_MEASUREMENTS:,} measurements and {MOST_SECONDS} s"
    return [*lines, "", f"Aim: {aim}: {'met' if met else 'missed'}."]


def spaces_markdown(template: SearchRun, rules: SearchRun) -> list[str]:
    """What either space reached on each layer."""
    lines = [
        "## Templates against rules",
        "",
        f"Seed {template.seed}; {template.measured} and {rules.measured} measurements.",
        "",
        "| layer | templates, cycles | rules, cycles | rules to templates | |",
        "|---|---:|---:|---:|---|",
    ]
    far = 0
    for name, cycles in template.layer_cycles.items():
        other = rules.layer_cycles[name]
        near = max(cycles, other) <= min(cycles, other) * (1 + NEAR_SPACES)
        far += not near
        lines.append(
            f"| {name} | {cycles:,} | {other:,} | {other / cycles:.3f} | {'' if near else 'far'} |"
        )
    verdict = "met" if not far else f"missed on {far}"
    return [*lines, "", f"Aim: each within {NEAR_SPACES:.0%} of the other: {verdict}."]


def plot(runs: Sequence[SearchRun], best_cycles: int, title: str, path: Path) -> None:
    """Totals of all seeds against measurements and against seconds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4), sharey=True)
    for axis, what in zip(axes, ("measurements", "seconds"), strict=True):
        for run in runs:
            axis.step(
                [getattr(moment, what) for moment in run.moments],
                [moment.cycles / 1e6 for moment in run.moments],
                where="post",
                label=f"seed {run.seed}",
            )
        axis.axhline(best_cycles * (1 + NEAR) / 1e6, color="grey", linestyle="--", linewidth=1)
        axis.set_xlabel(what)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("million cycles, best known of each layer")
    axes[0].legend()
    figure.suptitle(f"{title} (dashed: best total known + {NEAR:.0%})")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m benchmarks.search_curves", description=__doc__.partition("\n")[0]
    )
    result.add_argument("--model", default="resnet18")
    result.add_argument("--ops", metavar="OP,...", help="only layers of these operators")
    result.add_argument("--trials", type=int, default=1000, help="of each run (default 1000)")
    result.add_argument("--seeds", default="0,1,2", metavar="N,...", help="(default 0,1,2)")
    result.add_argument(
        "--best", type=int, metavar="CYCLES", help="a total that is known to be possible"
    )
    result.add_argument(
        "--spaces", action="store_true", help="compare templates and rules, with the first seed"
    )
    result.add_argument(
        "--output", type=Path, default=RESULTS, help="folder of the report (default: %(default)s)"
    )
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        seeds = [int(seed) for seed in options.seeds.split(",")]
    except ValueError:
        parser().error(f"--seeds: needs numbers with commas between them, has {options.seeds!r}")
    for name in ("trials", "best"):
        value = getattr(options, name)
        if value is not None and value < 1:
            parser().error(f"--{name}: needs at least 1, has {value}")
    return report_errors("python -m benchmarks.search_curves", lambda: _run(options, seeds))


def _run(options: argparse.Namespace, seeds: Sequence[int]) -> int:
    check_model(options.model)
    config = preset("gemmini-16x16")
    layers: list[Layer] = select_layers(load_network(options.model, config).layers, options.ops)
    runs = []
    for seed in seeds:
        runs.append(search_from_nothing(config, layers, options.trials, seed))
        print(f"seed {seed}: {runs[-1].moments[-1].cycles:,} cycles", flush=True)
    best = min(run.moments[-1].cycles for run in runs)
    best = min(best, options.best or best)
    what = options.model + (f", {options.ops}" if options.ops else "")
    lines = [
        f"# Search from nothing: {what}",
        "",
        f"Made by `python -m benchmarks.search_curves --model {options.model}"
        + (f" --ops {options.ops}" if options.ops else "")
        + f" --trials {options.trials} --seeds {options.seeds}"
        + (f" --best {options.best}" if options.best else "")
        + (" --spaces" if options.spaces else "")
        + f"` on {machine()}; other work on the machine counts against the seconds.",
        "",
        "![best total against measurements and seconds](search_curves.png)",
        "",
        *curves_markdown(runs, best),
    ]
    if options.spaces:
        template, rules = (
            search_from_nothing(config, layers, options.trials, seeds[0], space)
            for space in ("template", "rules")
        )
        lines += ["", *spaces_markdown(template, rules)]
    text = "\n".join(lines) + "\n"
    options.output.mkdir(parents=True, exist_ok=True)
    plot(runs, best, f"{what} on {config.name}", options.output / "search_curves.png")
    write_atomically(options.output / "search_curves.md", text.encode())
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
