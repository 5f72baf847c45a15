"""Layers of a network as tuning and reports see them: equal operators are one, with a count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..topi import Operator


@dataclass(frozen=True)
class Layer:
    """An operator in canonical form and how often a network has it."""

    operator: Operator
    count: int

    @property
    def name(self) -> str:
        """Unique in a network."""
        return self.operator.name

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run, 0 where the operator does not multiply."""
        return self.operator.macs


def layers_of(operators: Iterable[Operator]) -> list[Layer]:
    """The layers of a network with these operators, in order of first appearance."""
    counts: dict[Operator, int] = {}
    for operator in operators:
        canonical = operator.canonical()
        counts[canonical] = counts.get(canonical, 0) + 1
    return [Layer(operator, count) for operator, count in counts.items()]
