"""`python -m benchmarks.packing_report`: what packed weights gain, layer by layer.

For every layer of every model that has logs: the schedule that a build takes, if it packs weights,
beside the same one with its weights as the operator has them, and beside the default schedule of
the operator if its weights have to stay so.  Rewrites `docs/results/packing.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import tvm_ffi
from tvm import s_tir
from tvm.s_tir import Schedule

from benchmarks.places import RESULTS
from npu_target.codegen_tir import build_program
from npu_target.device import DeviceConfig
from npu_target.devices.gemmini import GemminiConfig
from npu_target.intrin import PACKED
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Operator
from npu_target.tuning.choose import Chooser, cycles_of
from npu_target.tuning.header import Header
from npu_target.tuning.log import read_log
from npu_target.tuning.network import load_network

from .model_reports import report_models

REPORT = RESULTS / "packing.md"


@dataclass(frozen=True)
class Gain:
    """Cycles of a layer that a build packs: by its schedule, by the same one with weights as the
    operator has them, and by the default of an operator whose weights stay so."""

    name: str
    count: int
    packed_cycles: int
    same_cycles: int
    default_cycles: int

    @property
    def plain_cycles(self) -> int:
        """By the better of the two that do not pack."""
        return min(self.same_cycles, self.default_cycles)

    @property
    def change(self) -> float:
        """How much more it takes packed, as a share of what it takes without."""
        return self.packed_cycles / self.plain_cycles - 1


def unpacked(schedule: Schedule) -> Schedule | None:
    """The same schedule with weights as the operator has them; None where they are so already."""
    blocks: list[str] = []
    tvm_ffi.structural_walk(
        schedule.mod["main"].body, (s_tir.SBlock, lambda block: blocks.append(str(block.name_hint)))
    )
    plain = Schedule(schedule.mod)
    is_packed = False
    for name in blocks:
        for loop in plain.get_loops(plain.get_sblock(name)):
            if PACKED in plain.get(loop).annotations:
                plain.unannotate(loop, PACKED)
                is_packed = True
    return plain if is_packed else None


def as_they_are(operator: Operator) -> Operator:
    """The operator, but that its weights may lie in no other way."""
    kind = type(operator)
    plain = type(kind.__name__, (kind,), {"layout_free": ()})
    return plain(**{field.name: getattr(operator, field.name) for field in fields(operator)})


def gains(model: str, logs: Path, config: GemminiConfig) -> Iterator[Gain]:
    """Of the layers whose best known schedule packs. Raises LogError."""
    log = read_log(logs / model, Header.of(config, model, "python -m benchmarks.packing_report"))
    chooser = Chooser(config, log)
    for layer in load_network(model, config).layers:
        schedule = chooser.schedule(layer.operator)
        same = unpacked(schedule)
        if same is not None:
            default = default_schedule(as_they_are(layer.operator), config)
            cycles = [_cycles(one, config) for one in (schedule, same, default)]
            yield Gain(layer.name, layer.count, *cycles)


def _cycles(schedule: Schedule, config: DeviceConfig) -> int:
    return cycles_of(build_program(schedule.mod["main"], config, "kernel"))


def table(model: str, found: Sequence[Gain]) -> str:
    """A model's gains in Markdown."""
    lines = [
        f"## {model}",
        "",
        "| layer | times | default without | the same without | packed | |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {gain.name} | {gain.count} | {gain.default_cycles:,} | {gain.same_cycles:,} "
        f"| {gain.packed_cycles:,} | {gain.change:+.1%} |"
        for gain in found
    ]
    packed = sum(gain.count * gain.packed_cycles for gain in found)
    plain = sum(gain.count * gain.plain_cycles for gain in found)
    if plain:
        lines += [
            "",
            f"Together {packed:,} cycles packed, {plain:,} by the better without: "
            f"{packed / plain - 1:+.2%}.",
        ]
    return "\n".join([*lines, ""])


def section(model: str, logs: Path, config: GemminiConfig) -> str:
    """A model's table. Raises LogError."""
    return table(model, list(gains(model, logs, config)))


def head(config: GemminiConfig) -> list[str]:
    """The page's first lines."""
    return [
        "# What packed weights gain",
        "",
        "Made by `python -m benchmarks.packing_report`. Simulated cycles of one run on",
        f"`{config.name}`, DDR3, caches cold, of the layers whose weights a build",
        "[packs](../packing.md): by the schedule that it takes; by *the same* one with weights as",
        "the operator has them, which may be one that only packed weights are good for; and by the",
        "*default* one of an operator whose weights have to stay as they are. The difference is",
        "to the better of the two without, which were not tuned as the first may be.",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    program = "python -m benchmarks.packing_report"
    return report_models(program, __doc__ or "", REPORT, head, section, arguments)


if __name__ == "__main__":
    sys.exit(main())
