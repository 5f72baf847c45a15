"""Parts of programs that move rows, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from ....program import Arg, Loop, Node, Operand, Program, const, device_command, var
from ....program.expr import Expr
from ..config import GemminiConfig
from ..isa import ConfigLd, ConfigSt, LocalAddress, Mvin, Mvout

X, Y = 0, 1  # the places of what is read and of what is written


def program(
    config: GemminiConfig, name: str, body: Sequence[Node], read: int = 0, written: int = 0
) -> Program:
    """A program that reads so many bytes of an argument of its own and writes so many of another:
    first the one, then the other, where there are any."""
    args = [Arg("x", "input", "int8", (read,))] if read else []
    if written:
        args.append(Arg("y", "output", "int8", (written,)))
    return Program(name, config, tuple(args), tuple(body))


def times(count: int, *body: Node, loop_id: int = 0) -> Node:
    """The body so often, with `var(loop_id)` counting."""
    return Loop(loop_id, const(count), tuple(body))


def load_rows(config: GemminiConfig, stride: int, scale: float = 1.0) -> Node:
    """What is in force for loads of rows so many bytes apart."""
    return device_command(ConfigLd, stride_bytes=stride, block_stride=config.dim, scale=scale)


def store_rows(stride: int, scale: float = 1.0) -> Node:
    """What is in force for stores of rows so many bytes apart."""
    return device_command(ConfigSt, stride_bytes=stride, scale=scale)


def load(
    config: GemminiConfig,
    at: Expr | int,
    row: Expr | int = 0,
    cols: int | None = None,
    rows: int | None = None,
) -> Node:
    """From so many bytes on to this row of the scratchpad; by default as much as a block."""
    return device_command(
        Mvin,
        dram_address=Operand.argument(X, at),
        local=(LocalAddress.spad(0), row),
        cols=config.dim if cols is None else cols,
        rows=config.dim if rows is None else rows,
    )


def store(
    config: GemminiConfig,
    at: Expr | int,
    row: LocalAddress,
    cols: int | None = None,
    rows: int | None = None,
    argument: int = Y,
) -> Node:
    """From this row on to so many bytes from the start; by default as much as a block."""
    return device_command(
        Mvout,
        dram_address=Operand.argument(argument, at),
        local=row,
        cols=config.dim if cols is None else cols,
        rows=config.dim if rows is None else rows,
    )


def line(count: int, loop_id: int = 0) -> Expr:
    """`var(loop_id)`, times a number of bytes or rows."""
    return var(loop_id) * count
