"""The ends of a pipeline of tiles: the first tile's loads, and the last tile's stores.

A pipeline overlaps a tile's copies with the steps of its neighbours.  The first tile has none
before it, and the last one none behind it: the array would wait for all the loads of the one, and
the device for all the stores of the other.  So here a tile's own copies go between its own steps:
a load before the first step that needs it, and no sooner than the copy engine comes to it; a store
after the last step that adds to it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from .codegen_copies import SingleCopies, rolled
from .codegen_weave import estimate, weave
from .config import NpuConfig
from .isa import COMPUTES, LOADS, ConfigLd, ConfigSt, Mvout, Preload
from .isa_encoding import CONFIG_FUNCT
from .program_edit import CONFIG, LOAD, STEP, STORE, NodeKinds
from .program_nodes import Command, Loop, Node, Weave, nodes_of, unused_loop_ids
from .program_rows import NotConstant, RowSettings, decoded
from .step_space import StepSpace

# Copies go to their queue that many ahead of the engine, and in groups of so many cycles.
_LOADS_AHEAD = 4
_STORES_AHEAD = 2
_GROUP_CYCLES = 256
_LARGEST_GROUP = 6
_MOST_GROUPS = 32
# From a copy's last byte, or a step's last row, to what waits for it.
_LATENCY_CYCLES = 60

_STEPS = {cls.funct for cls in (Preload, *COMPUTES)}


def overlap_ends(nodes: tuple[Node, ...], config: NpuConfig) -> tuple[Node, ...]:
    """The program with the first tile's loads, and the last one's stores, between their steps."""
    return _Ends(nodes, config).sequence(nodes, RowSettings.unset())


class _Steps(NamedTuple):
    """The array's steps of a tile, and what is woven into them."""

    body: tuple[Node, ...]
    filling: tuple[Node, ...]
    nodes: tuple[Node, ...] | None  # what both are together, where that is known


class _Ends:
    def __init__(self, nodes: tuple[Node, ...], config: NpuConfig) -> None:
        self.config = config
        self.n_rows = config.spad_rows + config.acc_rows
        self.kinds = NodeKinds()
        self.fresh_loop = unused_loop_ids(nodes).__next__

    def rolled(self, copies: SingleCopies, which: Iterable[int]) -> tuple[Node, ...]:
        return rolled([copies.commands[i] for i in which], self.fresh_loop)

    def sequence(self, nodes: tuple[Node, ...], settings: RowSettings) -> tuple[Node, ...]:
        """Nodes that follow each other, and what is inside of their loops."""
        done: list[Node] = []
        open_steps: _Steps | None = None  # which copies behind may still go into
        copies: list[Node] = []
        for steps, node in self.runs(nodes):
            if steps is not None:
                done, copies = self.close(done, open_steps, copies, settings)
                before, open_steps = self.started(copies, steps, settings)
                done += before
                copies = []
            elif self.kinds(node) <= {CONFIG, LOAD, STORE}:
                copies.append(node)
            else:
                done, copies = self.close(done, open_steps, copies, settings)
                done += self.plain(copies, settings)
                open_steps, copies = None, []
                done.append(self.inside(node, settings))
        done, copies = self.close(done, open_steps, copies, settings)
        return (*done, *self.plain(copies, settings))

    def inside(self, node: Node, settings: RowSettings) -> Node:
        """A loop over tiles."""
        if not isinstance(node, Loop):
            return node
        if CONFIG not in self.kinds(node):
            return Loop(node.loop_id, node.extent, self.sequence(node.body, settings))
        settings.forget()
        body = self.sequence(node.body, settings)
        settings.forget()
        return Loop(node.loop_id, node.extent, body)

    def close(
        self,
        done: list[Node],
        steps: _Steps | None,
        copies: list[Node],
        settings: RowSettings,
    ) -> tuple[list[Node], list[Node]]:
        """The nodes with the steps behind them, and the copies that are still to come."""
        if steps is None:
            return done, copies
        settings_behind = [node for node in copies if self.kinds(node) == {CONFIG}]
        if (
            settings_behind
            and self.can_move(copies)
            and not _set_by(settings_behind) & _obeyed_by((*steps.body, *steps.filling))
        ):
            done = [*done, *self.plain(settings_behind, settings)]
            copies = [node for node in copies if self.kinds(node) != {CONFIG}]
        ends = next((i for i, node in enumerate(copies) if CONFIG in self.kinds(node)), len(copies))
        made, left = self.finished(steps, copies[:ends], settings)
        return [*done, *made], [*left, *copies[ends:]]

    def plain(self, nodes: list[Node], settings: RowSettings) -> list[Node]:
        """Nodes as they are; their settings are in force from here on."""
        for node in nodes_of([node for node in nodes if CONFIG in self.kinds(node)]):
            if isinstance(node, Command) and node.funct == CONFIG_FUNCT:
                settings.apply(decoded(node))
        return nodes

    def runs(self, nodes: Iterable[Node]) -> Iterator[tuple[_Steps | None, Node]]:
        """The nodes one by one; those that are a tile's steps as one, with what is woven in."""
        body: list[Node] = []
        for node in nodes:
            if self.kinds(node) == {STEP}:
                body.append(node)
                continue
            if body:
                yield _Steps(tuple(body), (), tuple(body)), body[0]
                body = []
            if isinstance(node, Weave) and self.can_take_apart(node):
                yield _Steps(node.body, node.filling, (node,)), node
            else:
                yield None, node
        if body:
            yield _Steps(tuple(body), (), tuple(body)), body[0]

    def can_take_apart(self, weave: Weave) -> bool:
        steps = all(self.kinds(node) == {STEP} for node in weave.body)
        return steps and not any(CONFIG in self.kinds(node) for node in weave.filling)

    def can_move(self, nodes: list[Node]) -> bool:
        """Whether all copies of a sequence may come after all its settings."""
        if not any(CONFIG in self.kinds(node) for node in nodes):
            return True
        obeyed: set[object] = set()
        for node in nodes:
            if CONFIG in self.kinds(node) and self.kinds(node) != {CONFIG}:
                return False
            if obeyed & _set_by((node,)):
                return False
            obeyed |= _obeyed_by((node,))
        return True

    # ---- the first tile -----------------------------------------------------------------

    def started(
        self, before: list[Node], steps: _Steps, settings: RowSettings
    ) -> tuple[list[Node], _Steps]:
        """What comes before the steps, and the last of them, with copies between the others."""
        unchanged = self.plain(before, settings), steps
        if not self.can_move(before):
            return unchanged
        configs = [node for node in before if self.kinds(node) == {CONFIG}]
        moving = [node for node in before if self.kinds(node) != {CONFIG}]
        if not moving:
            return unchanged
        try:
            copies = SingleCopies.of(moving, settings, self.config)
            space = StepSpace(steps.body, settings, self.config)
            needed = self.needed(copies, space)
        except NotConstant:
            return unchanged
        order = [index for index, at in enumerate(needed) if at < space.positions]
        order.sort(key=lambda index: needed[index])
        if not order or needed[order[-1]] == 0:
            return unchanged
        later = [index for index, at in enumerate(needed) if at == space.positions]
        filling = (*self.rolled(copies, later), *steps.filling)
        copies, needed = copies.in_order(order), [needed[index] for index in order]
        where = self.load_positions(copies.cycles, needed, space)
        nodes: list[Node] = [*configs]
        groups = _groups(copies.cycles, where)
        cuts = [where[group[0]] for group in groups]
        nodes += space.cut(0, cuts[0])
        for group, (first, end) in zip(groups, pairwise([*cuts, space.positions]), strict=True):
            at_once = [i for i in group if needed[i] < end]
            nodes += self.rolled(copies, at_once)
            between = self.rolled(copies, [i for i in group if i not in at_once])
            if end == space.positions:
                return nodes, _Steps(space.cut(first, end), (*between, *filling), None)
            if first < end:
                nodes += weave(space.cut(first, end), between, self.config)
        raise AssertionError("the last group goes up to the last position")

    def needed(self, copies: SingleCopies, space: StepSpace) -> list[int]:
        """The first position that needs a copy, or one that has to follow it."""
        owner, before = copies.owners(self.n_rows)
        first = np.full(len(copies), space.positions, dtype=np.int64)
        for rows, positions in space.touched(last=False):
            owners = owner[rows]
            held = owners >= 0
            np.minimum.at(first, owners[held], positions[held])
        needed = [int(position) for position in first]
        for index in reversed(range(len(needed))):
            for other in before[index]:
                needed[other] = min(needed[other], needed[index])
        return needed

    def load_positions(self, cycles: list[float], needed: list[int], space: StepSpace) -> list[int]:
        """Where to issue loads that are in the order in which they are needed."""
        begins = [0.0, *accumulate(cycles)]  # of the engine's work on them, and the end of all
        waited = 0.0
        delays: list[tuple[float, float]] = []  # when the array has waited, and how long in all
        for index, busy in enumerate(space.cycles_before(needed)):
            reached = busy + waited
            waited += max(0.0, begins[index + 1] + _LATENCY_CYCLES - reached)
            delays.append((reached, waited))
        times = [begins[max(0, index - _LOADS_AHEAD)] for index in range(len(needed))]
        at = [bisect_right(delays, (time, inf)) - 1 for time in times]
        busy_until = [
            max(0.0, time - (delays[i][1] if i >= 0 else 0.0))
            for time, i in zip(times, at, strict=True)
        ]
        return list(accumulate(map(min, needed, space.positions_at(busy_until)), max))

    # ---- the last tile ------------------------------------------------------------------

    def finished(
        self, steps: _Steps, behind: list[Node], settings: RowSettings
    ) -> tuple[tuple[Node, ...], list[Node]]:
        """The steps, with copies from behind them between the last ones, and the other copies."""
        if not behind:
            return self.together(steps), behind
        try:
            copies = SingleCopies.of(behind, settings, self.config)
            space = StepSpace(steps.body, settings, self.config)
            ready = self.ready(copies, space)
        except NotConstant:
            return self.together(steps), behind
        order = sorted(range(len(ready)), key=lambda index: ready[index])
        copies, ready = copies.in_order(order), [ready[index] for index in order]
        where = self.positions_behind(copies, ready, space, steps.filling)
        groups = _groups(copies.cycles, where)
        while groups and where[groups[-1][-1]] >= space.positions:
            groups.pop()
        cuts = [where[group[-1]] for group in groups]
        nodes = weave(space.cut(0, [*cuts, space.positions][0]), steps.filling, self.config)
        for group, (first, end) in zip(groups, pairwise([*cuts, space.positions]), strict=True):
            inside = self.rolled(copies, group)
            nodes += weave(space.cut(first, end), inside, self.config) if first < end else inside
        done = sum(len(group) for group in groups)
        left = sorted(range(done, len(order)), key=lambda index: order[index])
        return nodes, [*self.rolled(copies, left)]

    def together(self, steps: _Steps) -> tuple[Node, ...]:
        """Steps and what is woven into them."""
        return steps.nodes or weave(steps.body, steps.filling, self.config)

    def ready(self, copies: SingleCopies, space: StepSpace) -> list[int]:
        """The position behind the last one that a copy has to follow."""
        # A row may be of several copies: the last steps before the first of them count.
        owner, before = copies.owners(self.n_rows, first=True)
        last = np.zeros(len(copies), dtype=np.int64)
        for rows, positions in space.touched(last=True):
            owners = owner[rows]
            held = owners >= 0
            np.maximum.at(last, owners[held], positions[held] + 1)
        ready = [int(position) for position in last]
        for index, others in enumerate(before):
            ready[index] = max([ready[index], *(ready[other] for other in others)])
        return ready

    def positions_behind(
        self, copies: SingleCopies, ready: list[int], space: StepSpace, filling: tuple[Node, ...]
    ) -> list[int]:
        """Where to issue copies that are in the order in which they may be."""
        free = {True: 0.0, False: 0.0}  # of the engines for loads and for stores
        for node in filling:
            free[LOAD in self.kinds(node)] += estimate(node, self.config).cycles
        begins: dict[bool, list[float]] = {True: [], False: []}
        times = []
        for index, busy in enumerate(space.cycles_before(ready)):
            engine = bool(copies.are_loads[index])
            begins[engine].append(max(free[engine], busy + _LATENCY_CYCLES))
            free[engine] = begins[engine][-1] + copies.cycles[index]
            ahead = _LOADS_AHEAD if engine else _STORES_AHEAD
            times.append(begins[engine][max(0, len(begins[engine]) - 1 - ahead)])
        return list(accumulate(map(max, ready, space.positions_at(times)), max))


def _groups(cycles: list[float], where: list[int]) -> list[list[int]]:
    """Copies that are issued together: neighbours, in groups of a few; of more where there would
    be very many groups."""
    most_cycles = max(_GROUP_CYCLES, sum(cycles) / _MOST_GROUPS)
    most_copies = max(_LARGEST_GROUP, ceil(len(cycles) / _MOST_GROUPS))
    groups: list[list[int]] = []
    total = 0.0
    for index, busy in enumerate(cycles):
        group = groups[-1] if groups else []
        if group and (
            where[index] == where[group[0]]
            or (total + busy <= most_cycles and len(group) < most_copies)
        ):
            group.append(index)
            total += busy
        else:
            groups.append([index])
            total = busy
    return groups


def _set_by(nodes: Iterable[Node]) -> set[object]:
    """For whom the settings among nodes are: a kind of commands."""
    found: set[object] = set()
    for node in nodes_of(nodes):
        if isinstance(node, Command) and node.funct == CONFIG_FUNCT:
            setting = decoded(node)
            if isinstance(setting, ConfigLd):
                found.add(LOADS[setting.id].funct)
            else:
                found.add(Mvout.funct if isinstance(setting, ConfigSt) else STEP)
    return found


def _obeyed_by(nodes: Iterable[Node]) -> set[object]:
    """The kinds of commands among nodes that obey settings."""
    commands = (node for node in nodes_of(nodes) if isinstance(node, Command))
    return {STEP if command.funct in _STEPS else command.funct for command in commands}
