"""`python -m benchmarks.search_kinds`: TVM's evolutionary search beside ours, on the same layers.

Both get as many measurements of a layer, begin from its default schedule, compile in the same
processes and measure on the same devices. Rewrites `docs/results/search_kinds.md`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.places import RESULTS
from benchmarks.search_runs import COMPILE, SEARCH, SearchRun, search_from_nothing
from benchmarks.simulator_speed import machine
from npu_target.cli.errors import report_errors
from npu_target.device import DEFAULT_DEVICE, preset
from npu_target.files import write_atomically
from npu_target.topi import Conv2d, Matmul
from npu_target.tuning.layers import Layer
from npu_target.tuning.searches import SEARCHES

REPORT = RESULTS / "search_kinds.md"


def layers() -> list[Layer]:
    """A convolution of ResNet-18 and a product of BERT-base."""
    convolution = Conv2d(1, 14, 14, 256, 256, 3, 3, (1, 1), (1, 1, 1, 1), True, True)
    product = Matmul(1, 128, 768, 768)
    return [Layer(operator.canonical(), 1) for operator in (convolution, product)]


def markdown(runs: dict[str, SearchRun], trials: int) -> str:
    """The report on a run of each search."""
    lines = [
        "# Searches compared",
        "",
        f"Made by `python -m benchmarks.search_kinds --trials {trials}` on {machine()}; other work "
        "on the machine counts against the seconds, not against processor seconds.",
        "",
        "| layer | default | " + " | ".join(f"{name}, cycles" for name in runs) + " |",
        "|---|---:|" + "---:|" * len(runs),
    ]
    first = next(iter(runs.values()))
    for layer, default in first.default_cycles.items():
        found = [run.found_cycles.get(layer) for run in runs.values()]
        cells = ["none" if cycles is None else f"{cycles:,}" for cycles in found]
        lines.append(f"| {layer} | {default:,} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "Cycles are those of the best candidate that a search proposed, if it came to one. Both "
        "begin from the default schedule; MetaSchedule's may propose it again, ours does not.",
        "",
        "| search | measured | not worth it | failed | a second | processor seconds of the search "
        "| of compiling |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, run in runs.items():
        spent = run.processor_seconds
        lines.append(
            f"| {name} | {run.measured} | {sum(run.rejected.values())} | "
            f"{sum(run.failures.values())} | {run.measured / max(run.seconds, 1e-9):.1f} | "
            f"{spent[SEARCH]:.1f} | {spent[COMPILE]:.1f} |"
        )
    return "\n".join(lines) + "\n"


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m benchmarks.search_kinds", description=__doc__.partition("\n")[0]
    )
    result.add_argument(
        "--trials", type=int, default=64, help="of each search, over all layers (default 64)"
    )
    result.add_argument(
        "--output", type=Path, default=REPORT, help="the report (default: %(default)s)"
    )
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.trials < 1:
        parser().error(f"--trials: needs at least 1, has {options.trials}")
    return report_errors("python -m benchmarks.search_kinds", lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    config = preset(DEFAULT_DEVICE)
    runs = {
        name: search_from_nothing(config, layers(), options.trials, search=name)
        for name in SEARCHES
    }
    text = markdown(runs, options.trials)
    write_atomically(options.output, text.encode())
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
