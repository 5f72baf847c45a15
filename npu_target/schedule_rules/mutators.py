"""Mutators: small steps from one candidate to the next."""

from __future__ import annotations

import random
from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.schedule import Trace

_TILE = "SamplePerfectTile"


@derived_object
class MoveTileFactor(ms.mutator.PyMutator):
    """Moves one prime factor of a tile between its outer and its inner loop.

    TVM's own mutator redraws a whole tile; near a memory's limit most redrawn tiles do not fit,
    while a neighbour often does.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.random = random.Random(seed)

    def _initialize_with_tune_context(self, context: Any) -> None:
        pass

    def apply(self, trace: Trace, _: Any) -> Trace | None:
        """A neighbour of the trace, or None if it has no tile that can change."""
        moves = []
        for instruction in trace.insts:
            if instruction.kind.name != _TILE:
                continue
            factors = [int(factor) for factor in trace.decisions[instruction]]
            for source, target in ((0, 1), (1, 0)):
                for prime in _primes(factors[source]):
                    moved = list(factors)
                    moved[source] //= prime
                    moved[target] *= prime
                    moves.append((instruction, moved))
        if not moves:
            return None
        instruction, moved = self.random.choice(moves)
        return trace.with_decision(instruction, moved, remove_postproc=True)

    def clone(self) -> MoveTileFactor:
        """A mutator for another search thread, with a sequence of its own."""
        return MoveTileFactor(self.random.randrange(1 << 30))


def _primes(value: int) -> set[int]:
    found, divisor = set(), 2
    while divisor * divisor <= value:
        while value % divisor == 0:
            found.add(divisor)
            value //= divisor
        divisor += 1
    return found | ({value} if value > 1 else set())
