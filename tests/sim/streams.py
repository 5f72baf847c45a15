"""Small streams and programs for the tests of the tool, and where the measured streams are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from npu_target.device.commands import DeviceCommand
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.isa import (
    GARBAGE,
    ComputePreloaded,
    ConfigEx,
    ConfigLd,
    ConfigSt,
    LocalAddress,
    Mvin,
    Mvout,
    Preload,
)
from npu_target.program import Arg, Loop, Operand, Program, const, device_command

RAM = 0x8000_0000
DIM = GemminiConfig().dim
ACC = LocalAddress(0, accumulator=True)

_FOLDER = Path(__file__).absolute().parents[2].parent / "shared" / "reference"
TRACES = Path(os.environ.get("NPU_REFERENCE_DIR", _FOLDER)) / "traces.jsonl"
needs_traces = pytest.mark.skipif(
    not TRACES.is_file(),
    reason=f"no {TRACES.name} in {TRACES.parent}; NPU_REFERENCE_DIR may name its folder",
)

SETUP = [ConfigEx(), ConfigLd(stride_bytes=64, block_stride=DIM), ConfigSt(stride_bytes=64)]


def mvin(row: int = 0, address: int = RAM) -> Mvin:
    return Mvin(dram_address=address, local=LocalAddress(row), cols=DIM, rows=DIM)


def product(weights: int) -> list[DeviceCommand]:
    size = {"bd_cols": DIM, "bd_rows": DIM}
    return [
        Preload(bd=LocalAddress(weights), c=ACC, c_cols=DIM, c_rows=DIM, **size),
        ComputePreloaded(a=LocalAddress(0), a_cols=DIM, a_rows=DIM, bd=GARBAGE, **size),
    ]


def words(commands: Iterable[DeviceCommand]) -> list[list[int | str]]:
    """As JSON has them."""
    triples = (command.encode() for command in commands)
    return [[funct, hex(rs1), hex(rs2)] for funct, rs1, rs2 in triples]


def loads_then_products(products: int) -> list[DeviceCommand]:
    """Each product waits for weights of its own."""
    commands: list[DeviceCommand] = []
    for _ in range(products):
        commands += [mvin(row=4096), *product(weights=4096)]
    return commands


def write_lines(path: Path, records: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def trace(name: str, commands: list[DeviceCommand], instructions: int = 1) -> dict[str, object]:
    """A record in the form of the measured streams."""
    timed = [[instructions * (i + 1), *w] for i, w in enumerate(words(commands))]
    return {"name": name, "group": "test", "setup": words(SETUP), "commands": timed}


def copy_program(lines: int = 3) -> Program:
    """Copies `lines` blocks of x to y."""
    block = DIM * DIM
    moves = (
        device_command(
            Mvin,
            dram_address=Operand.argument(0),
            local=LocalAddress(0),
            cols=DIM,
            rows=DIM,
        ),
        device_command(
            Mvout,
            dram_address=Operand.argument(1),
            local=LocalAddress(0),
            cols=DIM,
            rows=DIM,
        ),
    )
    shape = (lines, block)
    return Program(
        "copy",
        GemminiConfig(),
        (Arg("x", "input", "int8", shape), Arg("y", "output", "int8", shape)),
        (
            device_command(ConfigLd, stride_bytes=DIM, block_stride=DIM),
            device_command(ConfigSt, stride_bytes=DIM),
            Loop(0, const(lines), moves),
        ),
    )
