"""The compiled kernel: a loop nest around device commands, as the host core would run it.

The operands of a command are running values (a start, and an increment for every loop around)
wherever they can be; general expressions remain for boundary tiles. Expanded, a program is the
exact stream of (funct, rs1, rs2) that the device gets.

`file.py` has the binary form, `text.py` the disassembly, and `npu-target program` is
the command line.
"""

from .expr import (
    BOOLEAN_OPS,
    INT64_MAX,
    INT64_MIN,
    Expr,
    ExprLike,
    Op,
    ProgramError,
    add,
    as_expr,
    const,
    eq,
    floor_div,
    floor_mod,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    mul,
    select,
    sub,
    table,
    var,
    wrap_int64,
)
from .nodes import MAX_LOOP_DEPTH, Command, Loop, Node, nodes_of
from .operand import Address, Operand, Summand
from .program import (
    Arg,
    CommandForm,
    Constant,
    Program,
    RunningValue,
    command_form,
    device_command,
)

__all__ = [
    "BOOLEAN_OPS",
    "INT64_MAX",
    "INT64_MIN",
    "MAX_LOOP_DEPTH",
    "Address",
    "Arg",
    "Command",
    "CommandForm",
    "Constant",
    "Expr",
    "ExprLike",
    "Loop",
    "Node",
    "Op",
    "Operand",
    "Program",
    "ProgramError",
    "RunningValue",
    "Summand",
    "add",
    "as_expr",
    "command_form",
    "const",
    "device_command",
    "eq",
    "floor_div",
    "floor_mod",
    "le",
    "logical_and",
    "logical_not",
    "logical_or",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "nodes_of",
    "select",
    "sub",
    "table",
    "var",
    "wrap_int64",
]
