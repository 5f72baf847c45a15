"""The statements of a lowered function as the code generator walks them.

The generator comes to a statement several times: for the first iteration of a loop, for the
others, for the copies that it leaves waiting.  Only the values of the loops around differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import tvm_ffi
from tvm import tirx
from tvm.tirx import Var

from ..passes.linear import Linear, comparisons, undivided
from .nests import CopyNest, StepNest, Values


@dataclass(frozen=True)
class Sequence:
    """Statements one after another."""

    parts: tuple[Statement, ...]


@dataclass(frozen=True)
class Unsupported:
    """A statement that is an error where it is come to: the message, and what it is about."""

    text: str
    at: tirx.Stmt


@dataclass(frozen=True, eq=False)
class Repeat:
    """A loop that stays one.  After ``period`` iterations the versions of tiles that it alternates
    between come round."""

    name: str
    symbol: int
    start: int
    extent: int
    period: int
    body: Statement


class Branch:
    """A condition around statements: decided where it is known, else a part of a copy.

    ``symbols`` are the forms of variables; ``whole`` reads the statement with its condition.
    """

    def __init__(
        self,
        condition: tirx.Expr,
        symbols: Mapping[Var, Linear],
        then: Statement,
        otherwise: Statement,
        whole: Callable[[], Statement],
    ) -> None:
        self.condition = condition
        self._symbols = symbols
        self._whole = whole
        # What is done where the condition holds, and where it does not.
        self.then = then
        self.otherwise = otherwise
        variables: set[Var] = set()
        tvm_ffi.structural_walk(condition, (Var, lambda var: variables.add(var)))
        known = [symbols[var] for var in variables if var in symbols]
        # Of the loops around on which it depends.
        self.symbols = {key for form in known for key, _ in form.items}
        self._is_known = len(known) == len(variables)

    def holds(self, values: Values) -> bool | None:
        """Whether the condition does; None where more is to be known for that."""
        if not self._is_known or not all(symbol in values for symbol in self.symbols):
            return None
        forms = [undivided(form.substitute(values)) for form in self._forms]
        if not forms or not all(form.is_const for form in forms):
            return None
        return all(form.const >= 0 for form in forms)

    @cached_property
    def _forms(self) -> list[Linear]:
        return comparisons(self.condition, self._symbols)

    @cached_property
    def whole(self) -> Statement:
        """The statement with its condition."""
        return self._whole()


# A packed nest is a copy.
Statement = Sequence | Unsupported | Repeat | Branch | CopyNest | StepNest
