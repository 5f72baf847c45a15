"""Programs whose cycles are the host's: settings alone, which the device takes at once."""

from __future__ import annotations

from collections.abc import Iterator

from ....program import Node, Program, device_command, var
from ....program.expr import Expr
from ..config import GemminiConfig
from ..isa import ConfigLd
from .bodies import program, times

_INSTRUCTION_BYTES = 4


def _setting(stride: Expr | int) -> Node:
    return device_command(ConfigLd, stride_bytes=stride, block_stride=1)


def programs(config: GemminiConfig) -> Iterator[Program]:
    # Code that runs once, each line of it fetched from memory: cycles a line, cycles a command.
    for count in (16, 64, 256):
        yield program(config, f"{count} commands in a row", [_setting(64)] * count)
    # Two instructions an iteration beside the command, then four: what an instruction takes.
    yield program(config, "a command 512 times", [times(512, _setting(64))])
    yield program(
        config,
        "two running commands 512 times",
        [times(512, _setting(64 * var(0)), _setting(1 + 128 * var(0)))],
    )
    yield program(config, "8 commands 128 times", [times(128, *[_setting(64)] * 8)])
    # The last branch of each inner loop goes another way than those before it.
    for inner in (2, 4):
        loop = times(inner, _setting(64 + var(1)), loop_id=1)
        yield program(config, f"128 loops of {inner} turns", [times(128, loop)])
    # More code than the instruction cache holds, twice: lines that the L2 has.
    commands = config.host_icache_bytes // _INSTRUCTION_BYTES * 5 // 8
    body = [_setting(64 * index + 64 * var(0)) for index in range(commands)]
    yield program(config, f"twice {commands} commands with operands", [times(2, *body)])
