"""`python -m benchmarks.search_speed`: how many checked measurements a second, and what they cost.

Tunes 14x14 layers of ResNet-18 from nothing and says where the processors' time went. Rewrites
`docs/results/search_speed.md`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace

from benchmarks.places import RESULTS
from benchmarks.search_runs import CLIENT, COMPILE, DEVICE, SEARCH, SearchRun, search_from_nothing
from benchmarks.simulator_speed import machine
from npu_target.codegen_tir import CodegenError, build_program
from npu_target.device import DeviceConfig, kind_of, preset
from npu_target.files import write_atomically
from npu_target.passes.lower import lower
from npu_target.topi import Conv2d, Operator
from npu_target.tuning.choose import cycles_of
from npu_target.tuning.expected import expected_output, sample_inputs
from npu_target.tuning.features import features_of
from npu_target.tuning.layers import Layer
from npu_target.tuning.search import point_space
from npu_target.tuning.workload import workload_module

REPORT = RESULTS / "search_speed.md"
LEAST_PER_SECOND = 30.0
_SAMPLES = 24
_ROLES = {
    SEARCH: "search, cost model, logs (one process)",
    COMPILE: "replay, lowering, code generation, features (builder processes)",
    CLIENT: "sending programs, comparing outputs (a process a server)",
    DEVICE: "simulating, RPC server (a process a server)",
}


def layers() -> list[Layer]:
    """The 14x14 layers of ResNet-18 that the array works on longest."""
    square = Conv2d(1, 14, 14, 256, 256, 3, 3, (1, 1), (1, 1, 1, 1), True, True)
    halving = Conv2d(1, 14, 14, 256, 512, 3, 3, (2, 2), (1, 1, 1, 1), True, True)
    return [Layer(operator.canonical(), 1) for operator in (square, halving)]


def stages(operator: Operator, config: DeviceConfig, seed: int) -> dict[str, float]:
    """Processor milliseconds of each stage of a candidate, one after another in this process; the
    mean of some random candidates that fit."""
    spent: Counter[str] = Counter()

    def timed(name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        start = time.process_time()
        result = work(*arguments)
        spent[name] += time.process_time() - start  # type: ignore[assignment]
        return result

    space = point_space(operator, config, "both", seed, random.Random(seed))
    mod = workload_module(operator, config)
    done = 0
    for point in space.draw(4 * _SAMPLES):
        if done == _SAMPLES:
            break
        schedule = Schedule(mod)
        before = Counter(spent)
        trace = space.trace(point)
        timed("replay", Trace.apply_json_to_schedule, trace, schedule)
        func = schedule.mod["main"]
        try:
            program = timed(
                "lowering and code generation", build_program, func, config, operator.name
            )
        except CodegenError:
            spent = before
            continue
        timed("of that, TVM's lowering passes", lower, func, config)
        timed("program file", program.to_bytes)
        work = timed("counts and bound", kind_of(config).cost.work, program, operator)
        timed("features", features_of, operator, work)
        timed("simulating, values and cycles", cycles_of, program)
        done += 1
    inputs = sample_inputs(operator, seed)
    result = {name: 1e3 * seconds / max(1, done) for name, seconds in spent.items()}
    start = time.process_time()
    expected_output(operator, inputs, kind_of(config).numbers)
    result["expected output (once a layer)"] = 1e3 * (time.process_time() - start)
    return result


def markdown(
    runs: Sequence[tuple[Layer, SearchRun]], profile: dict[str, float], trials: int
) -> str:
    """The report on runs of so many trials a layer."""
    lines = [
        "# How fast candidates are measured",
        "",
        f"Made by `python -m benchmarks.search_speed --trials {trials}` on {machine()}. Each "
        "measurement is checked bit for bit. Seconds are of a clock on the wall, and other work on "
        "the machine counts against them; those of processors, below, it lengthens less.",
        "",
        "| layer | measured | failed | not worth measuring | seconds | measured a second | "
        "processor ms each |",
        "|---|---:|---:|---|---:|---:|---:|",
    ]
    for layer, run in runs:
        rejected = ", ".join(f"{n} {kind}" for kind, n in sorted(run.rejected.items())) or "-"
        each = 1e3 * sum(run.processor_seconds.values()) / run.measured
        lines.append(
            f"| {layer.name} | {run.measured} | {sum(run.failures.values())} | {rejected} | "
            f"{run.seconds:.1f} | {run.measured / run.seconds:.1f} | {each:.0f} |"
        )
    rate = statistics.mean(run.measured / run.seconds for _, run in runs)
    verdict = "met" if rate >= LEAST_PER_SECOND else "missed"
    lines += [
        "",
        f"Needed: {LEAST_PER_SECOND:.0f} a second; has {rate:.1f}: {verdict}.",
        "",
        "## Where the processors' time goes, by process",
        "",
        "| what | ms a measurement | share |",
        "|---|---:|---:|",
    ]
    measured = sum(run.measured for _, run in runs)
    spent: Counter[str] = Counter()
    for _, run in runs:
        spent.update(run.processor_seconds)
    total = sum(spent.values())
    for role, what in _ROLES.items():
        share = spent[role] / total if total else 0.0
        lines.append(f"| {what} | {1e3 * spent[role] / measured:.1f} | {share:.0%} |")
    lines += [
        "",
        "Candidates that are compiled but not measured are in these figures.",
        "",
        f"## Stages of one candidate of {runs[0][0].name}",
        "",
        f"Alone in one process, the mean of {_SAMPLES} random candidates.",
        "",
        "| stage | processor ms |",
        "|---|---:|",
        *[f"| {name} | {milliseconds:.1f} |" for name, milliseconds in profile.items()],
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.search_speed", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--trials", type=int, default=192, help="of each layer (default 192)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--output", type=Path, default=REPORT, help="the report (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if options.trials < 1:
        parser.error(f"--trials: needs at least 1, has {options.trials}")
    config = preset("gemmini-16x16")
    runs = [
        (layer, search_from_nothing(config, [layer], options.trials, options.seed))
        for layer in layers()
    ]
    profile = stages(layers()[0].operator, config, options.seed)
    text = markdown(runs, profile, options.trials)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(options.output, text.encode())
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
