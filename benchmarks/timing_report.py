"""`python -m benchmarks.timing_report`: measured against simulated cycles, trace by trace.

Replays every command stream that was measured on the hardware and rewrites
`docs/results/timing.md` and `timing.png`. The measurements are not part of the repository:
`--traces` names the file, else NPU_REFERENCE_DIR its folder, else it is looked for in
shared/reference beside the checkout. The plot needs the extra `plot`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.places import RESULTS
from npu_target.device import DeviceConfig, preset
from npu_target.files import write_atomically
from npu_target.sim.run import RAM_ADDRESS, RAM_BYTES
from npu_target.sim.stream import pack, read_stream

GROUPS = ("micro", "loop_ws", "matmul", "conv", "schedule", "memory")
MEMORIES = ("ideal_memory", "ddr3")
# "cold": the first run, by itself. "first": the same run, after those measured before it.
RUNS = ("warm", "cold", "first")
# Groups whose streams were measured one after another over the same memory.
_CONSECUTIVE = ("micro", "loop_ws", "matmul")
# Runs without figures of their own: enough for the caches to settle.
_SETTLING_RUNS = 3


@dataclass(frozen=True)
class Comparison:
    """One run of one trace. `run` is one of RUNS."""

    name: str
    group: str
    memory: str
    run: str
    measured: int
    simulated: int

    @property
    def error(self) -> float:
        return (self.simulated - self.measured) / self.measured


def default_traces() -> Path:
    folder = os.environ.get("NPU_REFERENCE_DIR")
    beside = Path(__file__).absolute().parents[2] / "shared" / "reference"
    return (Path(folder) if folder else beside) / "traces.jsonl"


def compare(path: Path) -> Iterator[Comparison]:
    """Every measured run of the traces in a file. Raises OSError and SimError."""
    config = preset("gemmini-16x16")
    earlier: defaultdict[tuple[str, ...], bytes] = defaultdict(bytes)
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for memory in MEMORIES:
            measured = record["cycles"].get(memory)
            if not measured:
                continue
            yield from _compare_runs(path, record, config, memory, measured)
            if record["group"] in _CONSECUTIVE:
                # One program measured those that have figures for the same memories.
                program = (memory, record["group"], *sorted(record["cycles"]))
                yield _compare_first(path, record, config, memory, measured, earlier[program])
                stream = read_stream(path, record["name"], config)
                earlier[program] += pack(stream.setup) + len(measured) * pack(stream.issues)


def _compare_first(
    path: Path,
    record: dict[str, Any],
    config: DeviceConfig,
    memory: str,
    measured: Sequence[int],
    earlier: bytes,
) -> Comparison:
    simulated = simulate(path, record["name"], config, memory, 1, earlier)
    return Comparison(record["name"], record["group"], memory, "first", measured[0], simulated[0])


def _compare_runs(
    path: Path, record: dict[str, Any], config: DeviceConfig, memory: str, measured: Sequence[int]
) -> Iterator[Comparison]:
    name, group = record["name"], record["group"]
    is_always_cold = "cold" in name  # it touches new lines each time
    runs = max(len(measured), 1 if is_always_cold else _SETTLING_RUNS)
    simulated = simulate(path, name, config, memory, runs)
    # What the others of `micro` touch was warm or cold as those before had left it.
    if group != "micro" or is_always_cold:
        yield Comparison(name, group, memory, "cold", measured[0], simulated[0])
    if not is_always_cold and (group == "micro" or len(measured) > 1):
        last = len(measured) if group != "micro" else runs
        yield Comparison(name, group, memory, "warm", measured[-1], simulated[last - 1])


def simulate(
    path: Path, name: str, config: DeviceConfig, memory: str, runs: int, earlier: bytes = b""
) -> list[int]:
    """The cycles of successive runs of one trace, the first with the caches as the packed commands
    `earlier` leave them."""
    from npu_target.device_api.profile import profile_stream

    stream = read_stream(path, name, config)
    device = config.with_ideal_memory() if memory == "ideal_memory" else config
    profiles = profile_stream(
        device,
        (RAM_ADDRESS, RAM_BYTES),
        earlier + pack(stream.setup),
        pack(stream.issues),
        runs,
    )
    return [profile.cycles for profile in profiles]


def markdown(comparisons: Sequence[Comparison]) -> str:
    """The report: groups first, then every trace."""
    lines = [
        "# Measured against simulated cycles",
        "",
        "Rewritten by `python -m benchmarks.timing_report`. Measured: command streams on a "
        "cycle-exact",
        "simulation of the generated hardware, from a fence to a fence. *Warm* is the last run "
        "over the",
        "same memory; *cold* the first one against a simulation that begins with cold caches; "
        "*first* the",
        "same run against a simulation that begins with what the streams before it, in the "
        "file's order,",
        "left in the caches, as the hardware did. *Ideal memory* answers the L2 in a cycle, *DDR3* "
        "is",
        "DDR3-1333 at a core of 500 MHz.",
        "First runs have the host's own instruction misses in them, of which the streams say "
        "nothing.",
        "",
        "![measured against simulated cycles](timing.png)",
        "",
        "| group | memory | caches | streams | mean error | worst error | worst stream |",
        "|---|---|---|---|---|---|---|",
    ]
    for group in GROUPS:
        for memory in MEMORIES:
            for run in RUNS:
                part = [
                    c for c in comparisons if (c.group, c.memory, c.run) == (group, memory, run)
                ]
                if part:
                    lines.append(_summary(group, memory, run, part))
    for group in GROUPS:
        lines += [
            "",
            f"## {group}",
            "",
            "| stream | memory | caches | measured | simulated | error |",
            "|---|---|---|---|---|---|",
        ]
        for c in comparisons:
            if c.group == group:
                lines.append(
                    f"| {c.name} | {_words(c.memory)} | {c.run} | {c.measured:,} "
                    f"| {c.simulated:,} | {100 * c.error:+.2f} % |"
                )
    return "\n".join([*lines, ""])


def _summary(group: str, memory: str, run: str, part: Sequence[Comparison]) -> str:
    errors = [abs(c.error) for c in part]
    worst = max(part, key=lambda c: abs(c.error))
    return (
        f"| {group} | {_words(memory)} | {run} | {len(part)} "
        f"| {100 * sum(errors) / len(errors):.2f} % | {100 * max(errors):.2f} % "
        f"({abs(worst.simulated - worst.measured):,} of {worst.measured:,}) | {worst.name} |"
    )


def _words(memory: str) -> str:
    return {"ideal_memory": "ideal", "ddr3": "DDR3"}[memory]


def plot(comparisons: Sequence[Comparison], path: Path) -> None:
    """Errors by measured cycles, a colour for each group. Raises ImportError, OSError."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(
        2, 1, figsize=(8, 8), sharex=True, height_ratios=(3, 2), layout="constrained"
    )
    for group in GROUPS:
        part = [c for c in comparisons if c.group == group]
        measured = [max(c.measured, 1) for c in part]
        above.plot(measured, [c.simulated for c in part], ".", label=f"{group} ({len(part)})")
        below.plot(measured, [100 * c.error for c in part], ".")
    ends = [1, max(c.measured for c in comparisons)]
    above.plot(ends, ends, color="gray", linewidth=0.5)
    above.set(xscale="log", yscale="log", ylabel="simulated cycles")
    above.legend()
    below.axhline(0, color="gray", linewidth=0.5)
    below.set(xlabel="measured cycles", ylabel="error, %")
    with path.open("wb") as file:
        figure.savefig(file, format="png", dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.timing_report", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--traces", type=Path, help="the measured streams, JSON lines")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the report")
    parser.add_argument("--no-plot", action="store_true", help="leave the plot as it is")
    options = parser.parse_args(arguments)
    traces = options.traces or default_traces()
    if not traces.is_file():
        parser.error(f"no {traces}: --traces names the file, or NPU_REFERENCE_DIR its folder")
    comparisons = list(compare(traces))
    text = markdown(comparisons)
    options.output.mkdir(parents=True, exist_ok=True)
    write_atomically(options.output / "timing.md", text.encode())
    if not options.no_plot:
        plot(comparisons, options.output / "timing.png")
    print(text.partition("\n## ")[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
