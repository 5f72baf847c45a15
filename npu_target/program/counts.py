"""How often each command of a program runs, told from its loops without running them.

Counts are kept twice. The likely ones take loops whose extent is not known as entered once, the
sure ones as not entered: nothing that the latter count can be missing from a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np

from .evaluate import evaluated, share_of_comparison
from .expr import Expr, Op
from .nodes import Command, Loop, Node
from .operand import Operand
from .program import Program

# Iterations for which a condition is looked at one by one.
_MOST_VALUES = 4096

Around = TypeVar("Around")


class CommandCounter(ABC, Generic[Around]):
    """Goes through a program once, and is asked for each command.

    iterations : likely ones, of all loops together.
    """

    def __init__(self, program: Program) -> None:
        self.iterations = 0
        self._extents: dict[int, int] = {}  # of the loops so far
        self._body = program.body

    def count(self) -> None:
        """Go through the program."""
        self._nodes(self._body, 1, 1, None)

    @abstractmethod
    def command(self, command: Command, times: int, sure: int, around: Around | None) -> None:
        """Take in a command that runs about `times` times, `sure` times at least."""

    def around(self, loop: Loop) -> Around | None:
        """What the commands in a loop are told of it. The outermost that says anything counts."""
        return None

    def _nodes(self, nodes: Sequence[Node], times: int, sure: int, around: Around | None) -> None:
        for node in nodes:
            if isinstance(node, Command):
                self.command(node, times, sure, around)
                continue
            extent = node.extent
            is_const = extent.op is Op.CONST
            known = max(0, extent.value) if is_const else self.mean_extent(extent)
            inner = times if known is None else round(times * known)
            self.iterations += inner
            told = around or self.around(node) or None
            if is_const:
                self._extents[node.loop_id] = extent.value
            self._nodes(node.body, inner, 0 if known is None else int(sure * known), told)

    def middle(self, word: Operand) -> int:
        """What a word is in the middle of the loops around, without terms that are no sums."""
        value = word.base
        for loop_id, step in word.steps:
            value += step * ((self._extents.get(loop_id, 1) - 1) // 2)
        return value

    def mean_extent(self, extent: Expr) -> float | None:
        """The mean extent of a loop, or share of the iterations in which a condition holds; None
        where that is not known."""
        share = share_of_comparison(extent, self._extents)
        if share is not None:
            return share
        values = evaluated(extent, self._extents, _MOST_VALUES)
        return None if values is None else float(np.maximum(values, 0).mean())


def likely_commands(nodes: Sequence[Node], times: int = 1) -> Iterator[tuple[Command, int]]:
    """The commands of a body that is run so many times, each with how often it is run; loops whose
    extent is not known are taken as entered once."""
    for node in nodes:
        if isinstance(node, Command):
            yield node, times
        else:
            extent = node.extent
            inner = times * max(0, extent.value) if extent.op is Op.CONST else times
            yield from likely_commands(node.body, inner)
