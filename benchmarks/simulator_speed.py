"""`python -m benchmarks.simulator_speed`: how fast the simulator itself is.

Layers of ResNet-18 by their default schedules, for values and cycles together and for cycles
alone: processor seconds of one core, the best and the median of some runs. Says on which machine,
and rewrites `docs/results/simulator_speed.md` and `.json`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.places import RESULTS
from npu_target.device import DeviceConfig, preset
from npu_target.files import write_atomically

# What the simulator is built to reach on one layer of 3x3, on one core.
LEAST_MACS_PER_SECOND = 5e9
LEAST_CYCLES_PER_SECOND = 20e6
LEAST_CYCLES_PER_SECOND_ALONE = 100e6
MOST_BYTES = 200_000_000
# (pixels on a side, channels, images) of the 3x3 layers; then more and more of one of them.
LAYERS = ((56, 64, 1), (28, 128, 1), (14, 256, 1), (7, 512, 1))
GROWTH = ((28, 128, 1), (28, 128, 2), (28, 128, 4), (28, 128, 8))


@dataclass(frozen=True)
class Speed:
    """What one program costs the host; seconds are of the processor, the best first."""

    name: str
    cycles: int
    macs: int
    commands: int
    together_seconds: tuple[float, ...]
    alone_seconds: tuple[float, ...]
    memory_bytes: int  # what the process grew by, at its peak

    @property
    def macs_per_second(self) -> float:
        return self.macs / self.together_seconds[0]

    @property
    def cycles_per_second(self) -> float:
        return self.cycles / self.together_seconds[0]

    @property
    def cycles_per_second_alone(self) -> float:
        return self.cycles / self.alone_seconds[0]


def layer_program(pixels: int, channels: int, images: int, config: DeviceConfig) -> bytes:
    """A 3x3 convolution of ResNet-18, by the default schedule, as a program file."""
    from npu_target.codegen_tir import build_program
    from npu_target.schedule_rules import default_schedule
    from npu_target.topi import Conv2d

    layer = Conv2d(
        images, pixels, pixels, channels, channels, 3, 3,
        strides=(1, 1), pad=(1, 1, 1, 1), bias=True, relu=True, scale=0.003,
    )  # fmt: skip
    schedule = default_schedule(layer, config)
    return build_program(schedule.mod["main"], config, layer.name).to_bytes()


def measure(name: str, program: bytes, repeats: int) -> Speed:
    """The speed of one program, in a process of its own so that its memory shows."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure_here, (name, program, repeats))


def _measure_here(name: str, program: bytes, repeats: int) -> Speed:
    import psutil
    import tvm_ffi

    from npu_target.device_api import validate_program

    validate_program(program)
    before = psutil.Process().memory_info().rss
    measured = tvm_ffi.get_global_func("npu.sim.measure_speed")(program, repeats)
    together, alone, cycles, macs, commands = measured
    return Speed(
        name,
        int(cycles),
        int(macs),
        int(commands),
        tuple(sorted(float(s) for s in together)),
        tuple(sorted(float(s) for s in alone)),
        max(0, peak_bytes() - before),
    )


def peak_bytes() -> int:
    """The most memory this process has had. (getrusage counts its parent's at the fork too.)"""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmHWM")


def machine() -> str:
    """The processor and the software, without the machine's name."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return (
        f"{model}, {os.cpu_count()} logical cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def markdown(speeds: Sequence[Speed], growth: Sequence[Speed], on: str) -> str:
    """The report."""
    lines = [
        "# Speed of the simulator",
        "",
        f"Rewritten by `python -m benchmarks.simulator_speed`. Machine: {on}.",
        "",
        "3x3 convolutions of ResNet-18, default schedules, one core, processor seconds: the best",
        f"of {len(speeds[0].together_seconds)} runs, the median in brackets. *Together*: values "
        "and cycles. *Alone*: cycles",
        "without values, the program's loops included.",
        "",
        "| layer | commands | cycles | together, ms | GMAC/s | M cycles/s | alone, ms "
        "| M cycles/s | memory, MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for speed in speeds:
        lines.append(
            f"| {speed.name} | {speed.commands:,} | {speed.cycles:,} "
            f"| {_ms(speed.together_seconds)} | {speed.macs_per_second / 1e9:.2f} "
            f"| {speed.cycles_per_second / 1e6:.1f} | {_ms(speed.alone_seconds)} "
            f"| {speed.cycles_per_second_alone / 1e6:.1f} | {speed.memory_bytes / 1e6:.0f} |"
        )
    lines += [
        "",
        "Cost grows with the commands, and memory does not:",
        "",
        "| layer | commands | ns a command, together | ns a command, alone | memory, MB |",
        "|---|---|---|---|---|",
    ]
    for speed in growth:
        together, alone = (
            1e9 * seconds[0] / speed.commands
            for seconds in (speed.together_seconds, speed.alone_seconds)
        )
        lines.append(
            f"| {speed.name} | {speed.commands:,} | {together:.0f} | {alone:.0f} "
            f"| {speed.memory_bytes / 1e6:.0f} |"
        )
    return "\n".join([*lines, "", *_verdicts(speeds), ""])


def _ms(seconds: Sequence[float]) -> str:
    return f"{1e3 * seconds[0]:.1f} ({1e3 * statistics.median(seconds):.1f})"


def _verdicts(speeds: Sequence[Speed]) -> list[str]:
    """What was aimed at, and what the best layer reached."""
    aims = [
        ("values and cycles, GMAC/s", max(s.macs_per_second for s in speeds) / 1e9,
         LEAST_MACS_PER_SECOND / 1e9, True),
        ("values and cycles, M cycles/s", max(s.cycles_per_second for s in speeds) / 1e6,
         LEAST_CYCLES_PER_SECOND / 1e6, True),
        ("cycles alone, M cycles/s", max(s.cycles_per_second_alone for s in speeds) / 1e6,
         LEAST_CYCLES_PER_SECOND_ALONE / 1e6, True),
        ("memory at most, MB", max(s.memory_bytes for s in speeds) / 1e6, MOST_BYTES / 1e6, False),
    ]  # fmt: skip
    lines = ["| aim | needs | best layer (memory: worst) | |", "|---|---|---|---|"]
    for what, has, needs, is_least in aims:
        is_met = has >= needs if is_least else has <= needs
        lines.append(f"| {what} | {needs:.0f} | {has:.1f} | {'met' if is_met else 'missed'} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.simulator_speed", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--repeats", type=int, default=15, help="runs of each program (default 15)")
    parser.add_argument(
        "--output", type=Path, default=RESULTS, help="folder of the report (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error(f"--repeats: needs at least 1, has {options.repeats}")
    config = preset("gemmini-16x16")

    def run(layers: Sequence[tuple[int, int, int]]) -> list[Speed]:
        return [
            measure(f"{p}x{p}x{c}" + (f" x {n}" if n > 1 else ""),
                    layer_program(p, c, n, config), options.repeats)
            for p, c, n in layers
        ]  # fmt: skip

    speeds, growth, on = run(LAYERS), run(GROWTH), machine()
    text = markdown(speeds, growth, on)
    record: dict[str, Any] = {
        "machine": on,
        "device": config.name,
        "layers": [asdict(speed) for speed in speeds],
        "growth": [asdict(speed) for speed in growth],
    }
    options.output.mkdir(parents=True, exist_ok=True)
    write_atomically(options.output / "simulator_speed.md", text.encode())
    write_atomically(
        options.output / "simulator_speed.json", (json.dumps(record, indent=1) + "\n").encode()
    )
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
