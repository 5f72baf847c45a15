"""`python -m benchmarks.replayed_report`: earlier programs on the RTL and in the simulator.

The command streams of an earlier compiler, which `benchmarks/replayed` has with the cycles that
they took when they were fed to the accelerator's command port on a cycle-exact simulation of the
generated hardware, first from cold caches.  This runs them in the simulator and rewrites
`docs/results/replayed.md`.
"""

from __future__ import annotations

import argparse
import json
import lzma
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.places import RESULTS
from npu_target.cli.errors import report_errors
from npu_target.device_api.profile import profile_stream
from npu_target.devices.gemmini import GemminiConfig
from npu_target.files import check_can_write, write_atomically

REPORT = RESULTS / "replayed.md"
FOLDER = Path(__file__).with_name("replayed")
# What is asked for: so far off at most, as a share of the RTL's cycles.
LIMIT = 0.04
# The host that fed them: a cycle a command.
_HOST_CYCLES = 1
_COMMAND = struct.Struct("<3Q")  # funct, rs1, rs2
_ISSUE = struct.Struct("<4Q")  # host cycles before those
_DEVICES = {"ddr3": GemminiConfig(), "ideal_memory": GemminiConfig().with_ideal_memory()}
_MEMORIES = {"ddr3": "DDR3", "ideal_memory": "ideal"}


@dataclass(frozen=True)
class Replay:
    """One run of one program; the first is number 1, and finds cold caches."""

    stream: str
    source: str
    commands: int
    memory: str  # of `_MEMORIES`
    run: int
    rtl_cycles: int
    simulated_cycles: int

    @property
    def error(self) -> float:
        """How much more the simulator says, as a share of what the RTL took."""
        return self.simulated_cycles / self.rtl_cycles - 1


def replays() -> Iterator[Replay]:
    """Every run of every program that the RTL has figures of."""
    for program in json.loads((FOLDER / "programs.json").read_text(encoding="utf-8")):
        name = program["stream"]
        commands = list(_COMMAND.iter_unpack(lzma.decompress((FOLDER / f"{name}.xz").read_bytes())))
        packed = b"".join(_ISSUE.pack(_HOST_CYCLES, *command) for command in commands)
        ram = program["address"], program["bytes"]
        for memory, rtl_cycles in program["rtl_cycles"].items():
            profiles = profile_stream(_DEVICES[memory], ram, b"", packed, len(rtl_cycles))
            for run, (rtl, profile) in enumerate(zip(rtl_cycles, profiles, strict=True), 1):
                yield Replay(
                    name, program["source"], len(commands), memory, run, rtl, profile.cycles
                )


def markdown(found: Sequence[Replay]) -> str:
    """The report."""
    errors = sorted(abs(replay.error) for replay in found)
    near = sum(error <= LIMIT for error in errors)
    lines = [
        "# Earlier programs on the RTL",
        "",
        "Made by `python -m benchmarks.replayed_report`. Command streams of the compiler of before",
        "operations were placed (commit 80d9545: by its logs, or by default), fed to the",
        "accelerator's command port on a cycle-exact simulation of the generated hardware: a *free",
        "host*, so that only the accelerator and its memory count. It took a cycle a command there",
        "and two more an iteration of a program's loops, which are left out here. The streams lie",
        "in `benchmarks/replayed`. The first run of each begins with cold caches.",
        "",
        f"Of {len(found)} runs {near} are at most {LIMIT:.0%} off; on average "
        f"{sum(errors) / len(errors):.1%}, half of them at most {errors[len(errors) // 2]:.1%}, at "
        f"worst {errors[-1]:.1%}.",
        "",
        "| from | program | commands | memory | run | RTL | simulated | difference |",
        "|---|---|---:|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {replay.source} | {replay.stream} | {replay.commands:,} | {_MEMORIES[replay.memory]} "
        f"| {replay.run} | {replay.rtl_cycles:,} | {replay.simulated_cycles:,} "
        f"| {replay.error:+.1%} |"
        for replay in found
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.replayed_report", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--output", type=Path, default=REPORT, help="the report's file")
    options = parser.parse_args(arguments)
    return report_errors(parser.prog, lambda: _write(options.output))


def _write(output: Path) -> int:
    check_can_write(output)
    text = markdown(list(replays()))
    write_atomically(output, text.encode())
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
