"""What a program is made of: commands, loops around them, and loops woven into others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

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


@dataclass(slots=True, unsafe_hash=True)  # not frozen: making them takes half as long
class Filler:
    """What goes into the gaps of another body: `burst` commands a gap, and the next gap is
    `period` commands of that body later."""

    nodes: tuple[Node, ...]
    period: int
    burst: int


@dataclass(slots=True, unsafe_hash=True)  # not frozen: making them takes half as long
class Weave:
    """Run the body, and fillers in its gaps, one filler after the other. The first gap is before
    the body's first command; what is left of the fillers follows the body.

    The host keeps two loop nests going at once, so the loop ids of body and fillers are apart.
    Weaves do not nest.
    """

    body: tuple[Node, ...]
    fillers: tuple[Filler, ...]

    @property
    def filling(self) -> tuple[Node, ...]:
        """The nodes of all fillers."""
        return tuple([node for filler in self.fillers for node in filler.nodes])


Node = Loop | Command | Weave


def nodes_of(nodes: Iterable[Node]) -> Iterator[Node]:
    """All nodes of a body, those inside others after them."""
    for node in nodes:
        yield node
        if isinstance(node, Loop):
            yield from nodes_of(node.body)
        elif isinstance(node, Weave):
            yield from nodes_of(node.body)
            yield from nodes_of(node.filling)


def unused_loop_ids(nodes: Iterable[Node]) -> Iterator[int]:
    """Ids that no loop of a body has."""
    return count(max(loop_ids(nodes), default=-1) + 1)


def loop_ids(nodes: Iterable[Node]) -> set[int]:
    """The ids of all loops of a body."""
    found: set[int] = set()
    bodies = [nodes]
    while bodies:
        for node in bodies.pop():
            if isinstance(node, Loop):
                found.add(node.loop_id)
                bodies.append(node.body)
            elif isinstance(node, Weave):
                bodies += [node.body, node.filling]
    return found
