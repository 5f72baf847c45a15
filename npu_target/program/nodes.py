"""What a program is made of: commands, and loops around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .expr import Expr
from .operand import Operand

MAX_LOOP_DEPTH = 64
MAX_EXPR_DEPTH = 256


@dataclass(slots=True, unsafe_hash=True)  # not frozen: making them takes half as long
class Command:
    """One device command of a program, its words as operands."""

    funct: int
    rs1: Operand
    rs2: Operand


@dataclass(slots=True, unsafe_hash=True)  # not frozen: making them takes half as long
class Loop:
    """Run the body with the variable 0 to extent - 1, not at all for an extent below 1.

    Ids are unique along a path. A condition is a loop whose extent is 0 or 1.
    """

    loop_id: int
    extent: Expr
    body: tuple[Node, ...]


Node = Loop | Command


def nodes_of(nodes: Iterable[Node]) -> Iterator[Node]:
    """All nodes of a body, those inside others after them."""
    for node in nodes:
        yield node
        if isinstance(node, Loop):
            yield from nodes_of(node.body)
