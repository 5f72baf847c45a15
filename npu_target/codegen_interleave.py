"""Loads and stores side by side: what is woven into a tile's steps, when that is much.

The device loads and stores at once.  Fillers of a weave follow one another, so a tile's stores
would all go before the loads of the next one, and each engine would rest while the other works.
Where both together take longer than the tile's steps leave, they are dealt out in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from math import ceil

from .codegen_copies import SingleCopies, rolled
from .codegen_weave import SPREAD_OVER, count_commands, estimate
from .config import NpuConfig
from .isa_encoding import CONFIG_FUNCT
from .program_edit import CONFIG, LOAD, STORE, NodeKinds
from .program_nodes import Command, Filler, Loop, Node, Weave, unused_loop_ids
from .program_rows import NotConstant, RowSettings, decoded
from .step_space import StepSpace

# Copies take turns in slots of so many cycles.
_SLOT_CYCLES = 256
# Copies that take a smaller part of the steps' time have room enough one after another.
_LEAST_SHARE = 0.5


def interleave(nodes: tuple[Node, ...], config: NpuConfig) -> tuple[Node, ...]:
    """The program with the loads and stores of its weaves in turns."""
    return _Interleave(nodes, config).nodes(nodes, RowSettings.unset())


class _Interleave:
    def __init__(self, nodes: tuple[Node, ...], config: NpuConfig) -> None:
        self.config = config
        self.n_rows = config.spad_rows + config.acc_rows
        self.kinds = NodeKinds()
        self.program = nodes

    @cached_property
    def fresh_loop(self) -> Callable[[], int]:
        """Gives ids that no other loop of the program has."""
        return unused_loop_ids(self.program).__next__

    def nodes(self, nodes: Iterable[Node], settings: RowSettings) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Command):
                if node.funct == CONFIG_FUNCT:
                    settings.apply(decoded(node))
            elif isinstance(node, Loop):
                if CONFIG in self.kinds(node):
                    settings.forget()  # what holds in the next iteration is not looked at
                node = Loop(node.loop_id, node.extent, self.nodes(node.body, settings))
            else:
                node = self.weave(node, settings)
            found.append(node)
        return tuple(found)

    def weave(self, weave: Weave, settings: RowSettings) -> Weave:
        if not {LOAD, STORE} <= {kind for node in weave.filling for kind in self.kinds(node)}:
            return weave  # nothing to take turns
        try:
            steps = StepSpace(weave.body, settings, self.config)
            total = sum(estimate(node, self.config).cycles for node in weave.filling)
            if total < _LEAST_SHARE * steps.cycles:
                return weave
            copies = SingleCopies.of(weave.filling, settings, self.config)
        except NotConstant:
            return weave
        slots = self.slots(copies)
        if slots is None:
            return weave
        gap = count_commands(weave.body) * SPREAD_OVER / len(slots)
        fillers = []
        for slot in slots:
            period = gap / max(1, len(slot))
            nodes = rolled([copies.commands[i] for i in slot], self.fresh_loop)
            fillers.append(Filler(nodes, max(1, int(period)), max(1, ceil(1 / period))))
        return Weave(weave.body, tuple(fillers))

    def slots(self, copies: SingleCopies) -> list[list[int]] | None:
        """Which copies go together, slot by slot; None where there is nothing to deal out."""
        loads = [i for i in range(len(copies)) if copies.are_loads[i]]
        stores = [i for i in range(len(copies)) if not copies.are_loads[i]]
        _, before = copies.owners(self.n_rows)
        if any(before[i] for i in stores):
            return None
        ends: dict[int, float] = {}
        free = 0.0
        for index in stores:
            free = ends[index] = free + copies.cycles[index]
        free = 0.0
        for index in loads:
            ready = max((ends[other] for other in before[index]), default=0.0)
            free = ends[index] = max(free, ready) + copies.cycles[index]
        slots: list[list[int]] = [[] for _ in range(int(max(ends.values()) / _SLOT_CYCLES) + 1)]
        for index in (*stores, *loads):
            slots[int(ends[index] / _SLOT_CYCLES)].append(index)
        return slots
