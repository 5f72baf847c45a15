"""Operations and steps where they are placed: a program before it is nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..passes.linear import Linear
from ..passes.transfers import LoopExtent
from ..program import Loop, Node, expr
from .dependences import Touched
from .operations import CopyOperation, Engine
from .steps import Step


class PlacedCopy(NamedTuple):
    """A copy, in loops of its own, and the tile that it touches."""

    operation: CopyOperation
    touched: Sequence[Touched]

    @property
    def engine(self) -> Engine:
        """Whose queue its commands go to."""
        return self.operation.kind.engine

    def nodes(self) -> tuple[Node, ...]:
        """Its commands."""
        return self.operation.nodes()


class PlacedStep(NamedTuple):
    """A step of ``rows`` rows of a nest's block from ``row`` on, and the tiles of its operands.
    ``new_stationary`` and ``overwrites`` as `Intrinsic.nodes` has them."""

    step: Step
    row: Linear
    rows: int
    new_stationary: bool
    overwrites: bool
    touched: Sequence[Touched]

    @property
    def engine(self) -> Engine:
        """Whose queue its commands go to."""
        return Engine.EXECUTE

    def nodes(self) -> tuple[Node, ...]:
        """Its commands."""
        return self.step.intrinsic.nodes(
            self.step,
            self.row,
            self.rows,
            new_stationary=self.new_stationary,
            overwrites=self.overwrites,
        )


class PlacedNodes(NamedTuple):
    """Commands that are no part of a copy or a step, such as settings."""

    made: tuple[Node, ...]

    def nodes(self) -> tuple[Node, ...]:
        """The commands."""
        return self.made


class PlacedLoop(NamedTuple):
    """A loop of more than one iteration."""

    loop: LoopExtent
    body: tuple[Placed, ...]

    def nodes(self) -> tuple[Node, ...]:
        """The loop of the program."""
        body = emitted(self.body)
        return (Loop(self.loop.loop_id, expr.const(self.loop.extent), body),) if body else ()


Placed = PlacedCopy | PlacedStep | PlacedNodes | PlacedLoop


def emitted(placed: Iterable[Placed]) -> tuple[Node, ...]:
    """What is placed, as nodes of a program."""
    return tuple([node for one in placed for node in one.nodes()])
