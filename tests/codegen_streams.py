"""What nodes of a program come to, command by command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from program_evaluator import expand

from npu_target.device.commands import DeviceCommand
from npu_target.devices.gemmini import GemminiConfig, isa
from npu_target.program import Arg, Node, Program

ARGS = (Arg("x", "input", "int8", (1 << 20,)), Arg("y", "output", "int8", (1 << 20,)))
ADDRESSES = {"x": 0, "y": 1 << 32}


class Step(NamedTuple):
    """A preload and a compute: the first rows of the weights (None: those that are there), of
    operand A and of the sums, how many rows, and whether the sums are overwritten."""

    weights: int | None
    a: int
    c: int
    rows: int
    overwrites: bool = False


def commands(nodes: Sequence[Node], config: GemminiConfig) -> list[DeviceCommand]:
    """In the order in which the device gets them."""
    program = Program("nodes", config, ARGS, tuple(nodes))
    return [isa.COMMANDS.decode(*words) for words in expand(program, ADDRESSES)]


def steps_and_copies(nodes: Sequence[Node], config: GemminiConfig) -> list[Step | DeviceCommand]:
    """The same with one item for each step of the array."""
    found: list[Step | DeviceCommand] = []
    preload = None
    for command in commands(nodes, config):
        if isinstance(command, isa.Preload):
            preload = command
        elif isinstance(command, isa.COMPUTES):
            assert preload is not None, "a compute without a preload"
            assert preload.c_rows == command.a_rows
            is_new = isinstance(command, isa.ComputePreloaded)
            assert is_new != preload.bd.is_garbage
            found.append(
                Step(
                    preload.bd.row if is_new else None,
                    command.a.row,
                    preload.c.row,
                    command.a_rows,
                    not preload.c.accumulate,
                )
            )
            preload = None
        else:
            assert preload is None, "a copy between a preload and its compute"
            found.append(command)
    return found
