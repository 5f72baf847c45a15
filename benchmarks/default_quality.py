"""How near default schedules are to the best of many, over random operators.

    python -m benchmarks.default_quality --seed 1 --operators 60 --trials 300 --device gemmini-16x16

draws operators of all kinds, and for each of them schedules: half anywhere in the space, half next
to the best so far, in this machine's processes.  It writes a report (Markdown, and JSON by which a
run that was cut goes on).
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from benchmarks.places import RESULTS
from benchmarks.random_operators import draw_operators
from npu_target.codegen_tir import build_program
from npu_target.device import DeviceConfig, presets
from npu_target.device_api import program_cycles
from npu_target.devices.gemmini import GemminiConfig
from npu_target.files import write_atomically
from npu_target.process_tree import end_with_parent
from npu_target.topi import Operator
from npu_target.topi.definition import from_json, to_json
from npu_target.tuning.choose import cycles_of
from npu_target.tuning.compiling import Compiled, CompileJob, compile_trace
from npu_target.tuning.points import Point
from npu_target.tuning.schedules import default_of
from npu_target.tuning.search import point_space

# A device with half the memories and a narrower bus, which no constant was looked at with.
HALF = GemminiConfig().replace(
    name="gemmini-half", spad_bank_rows=2048, acc_bank_rows=256, bus_bytes=8
)
# The operators that are drawn are a Gemmini's: other devices have no commands for some of them.
DEVICES = {
    config.name: config
    for config in (*presets().values(), HALF)
    if isinstance(config, GemminiConfig)
}
_MOST_PROCESSES = 2
_NEAR_SHARE = 0.5
# Candidates that do not compile are replaced, so many times as often as trials.
_DRAWS = 3


@dataclass(frozen=True)
class Quality:
    """Cycles of one operator by default, and by the best of ``trials`` schedules and the default;
    ``operator`` is in JSON form."""

    device: str
    name: str
    operator: str
    default_cycles: int
    best_cycles: int
    trials: int

    @property
    def above_best(self) -> float:
        """How much more the default takes, as a share of the best."""
        return self.default_cycles / self.best_cycles - 1


def measure(operator: Operator, config: DeviceConfig, trials: int, seed: int) -> Quality:
    """Compare the default with the best of so many other schedules."""
    default = build_program(default_of(operator, config).mod["main"], config, operator.name)
    default_cycles = cycles_of(default)
    best = default_cycles
    generator = random.Random(f"{seed} {operator.name}")
    space = point_space(operator.canonical(), config, "both", seed, generator)
    known: dict[Point, int] = {}
    for _ in range(_DRAWS * trials):
        if len(known) == trials:
            break
        near: list[Point] = []
        if known and generator.random() < _NEAR_SHARE:
            near = space.neighbours(min(known, key=lambda point: known[point]), best)
        drawn = [generator.choice(near)] if near else space.draw(1, best)
        if not drawn:
            break
        space.take(drawn[0])
        job = CompileJob(operator.canonical(), config, space.trace(drawn[0]))
        cycles = _cycles(job)
        if cycles is None:
            space.did_not_fit(drawn[0])
        else:
            known[drawn[0]] = cycles
            best = min(best, cycles)
    return Quality(config.name, operator.name, to_json(operator), default_cycles, best, len(known))


def _cycles(job: CompileJob) -> int | None:
    """Simulated cycles of a candidate; None for one that is no program."""
    compiled = compile_trace(job)
    if not isinstance(compiled, Compiled):
        return None
    try:
        return program_cycles(compiled.program)
    except RuntimeError:  # it races
        return None


def _explained(results: Sequence[Quality]) -> list[str]:
    """What a device is that is no preset."""
    if all(result.device != HALF.name for result in results):
        return []
    return [
        f"`{HALF.name}` is `gemmini-16x16` with half of the scratchpad's and the accumulator's",
        "rows and a bus half as wide: no preset, and no constant was looked at with it.",
    ]


def report(results: Sequence[Quality], seed: int, trials: int) -> str:
    """The report in Markdown."""
    lines = [
        "# Default schedules against the best of many",
        "",
        f"`python -m benchmarks.default_quality --seed {seed} --trials {trials}`: random",
        "operators, and by how much the default takes longer than the best of the trials and it.",
        *_explained(results),
        "",
        "| device | operators | mean | median | worst | above 12 % |",
        "|---|---|---|---|---|---|",
    ]
    for device in dict.fromkeys(result.device for result in results):
        above = sorted(result.above_best for result in results if result.device == device)
        lines.append(
            f"| {device} | {len(above)} | {sum(above) / len(above):.1%} "
            f"| {above[len(above) // 2]:.1%} | {above[-1]:.1%} "
            f"| {sum(share > 0.12 for share in above)} |"
        )
    lines += [
        "",
        "| device | operator | default | best | trials | above |",
        "|---|---|---|---|---|---|",
    ]
    for result in sorted(results, key=lambda result: (result.device, -result.above_best)):
        lines.append(
            f"| {result.device} | {result.name} | {result.default_cycles:,} "
            f"| {result.best_cycles:,} | {result.trials} | {result.above_best:.1%} |"
        )
    return "\n".join(lines) + "\n"


def load(path: Path, seed: int, trials: int) -> list[Quality]:
    """What a run with the same settings has measured; nothing where there was none.

    Raises
    ------
    ValueError
        for a file of something else, or of a run with other settings, which must not be lost.
    """
    if not path.exists():
        return []
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        settings = saved["seed"], saved["trials"]
        results = [Quality(**fields) for fields in saved["results"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no file of this benchmark; give another --out") from error
    if settings != (seed, trials):
        raise ValueError(
            f"{path} has what --seed {settings[0]} --trials {settings[1]} measured; give another "
            "--out, or remove it"
        )
    return results


def save(path: Path, results: Sequence[Quality], seed: int, trials: int) -> None:
    """Write the JSON file and, beside it, the report."""
    saved = {"seed": seed, "trials": trials, "results": [asdict(result) for result in results]}
    write_atomically(path, (json.dumps(saved, indent=1) + "\n").encode())
    write_atomically(path.with_suffix(".md"), report(results, seed, trials).encode())


def _measure_text(text: str, config: DeviceConfig, trials: int, seed: int) -> Quality:
    return measure(from_json(text), config, trials, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--operators", type=int, default=60)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--device", action="append", choices=sorted(DEVICES), default=None)
    parser.add_argument("--minutes", type=float, default=None, help="start nothing new after these")
    parser.add_argument("--processes", type=int, default=_MOST_PROCESSES)
    parser.add_argument("--out", type=Path, default=RESULTS / "default_quality.json")
    args = parser.parse_args()
    try:
        results = load(args.out, args.seed, args.trials)
    except ValueError as error:
        parser.error(str(error))
    done = {(result.device, result.operator) for result in results}
    end = None if args.minutes is None else time.monotonic() + 60 * args.minutes
    jobs = []
    for device in args.device or sorted(DEVICES):
        config = DEVICES[device]
        for operator in draw_operators(args.seed, args.operators, config):
            if (device, to_json(operator)) not in done:
                jobs.append((to_json(operator), config, args.trials, args.seed))
    with ProcessPoolExecutor(
        min(args.processes, _MOST_PROCESSES),
        mp_context=get_context("spawn"),
        initializer=end_with_parent,
    ) as pool:
        running = [pool.submit(_measure_text, *job) for job in jobs]
        for future in as_completed(running):
            if future.cancelled():
                continue
            results.append(future.result())
            save(args.out, results, args.seed, args.trials)
            print(
                f"{results[-1].device} {results[-1].name}: {results[-1].above_best:.1%}", flush=True
            )
            if end is not None and time.monotonic() > end:
                for waiting in running:
                    waiting.cancel()


if __name__ == "__main__":
    main()
