"""A body node by node: its loops cut and unrolled where that pays, sums made outside of them, and
again so with some of the loops treated otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from ..device.command_set import CommandSet
from ..pipeline_options import PipelineOptions
from ..program import Loop, Node, nodes_of
from .hoist import Hoists, hoisted
from .split import Splitter
from .sums import Users, shared
from .unroll import Taken, Unroller, unrolled

Show = Callable[[str, tuple[Node, ...]], None]


@dataclass(frozen=True)
class Change:
    """What is done to loops, by their ids, whether it pays by itself or not.

    cut : those that are cut where a condition in them is decided.
    joined : how many iterations of a loop become one.
    """

    cut: frozenset[int] = frozenset()
    joined: frozenset[tuple[int, int]] = frozenset()

    def cutting(self, loop_id: int) -> Change:
        return replace(self, cut=self.cut | {loop_id})

    def joining(self, loop_id: int, iterations: int) -> Change:
        others = [(other, n) for other, n in self.joined if other != loop_id]
        return replace(self, joined=frozenset([*others, (loop_id, iterations)]))

    @cached_property
    def loop_ids(self) -> frozenset[int]:
        """Those that it is about."""
        return self.cut.union([loop_id for loop_id, _ in self.joined])

    def of(self, loop_ids: frozenset[int]) -> Change:
        """What of it is about these loops."""
        joined = [
            (loop_id, iterations) for loop_id, iterations in self.joined if loop_id in loop_ids
        ]
        return Change(self.cut & loop_ids, frozenset(joined))


NO_CHANGE = Change()


class Parts:
    """A body of a device's commands, and what its nodes, each by itself, become.

    What was made once is kept: of changes that are tried one after the other most cut the same
    loops.
    """

    def __init__(
        self, body: tuple[Node, ...], commands: CommandSet, options: PipelineOptions
    ) -> None:
        self.body = body
        self.options = options
        self._splitter, self._unroller = Splitter(commands), Unroller()
        self._hoists, self._users = Hoists(), Users()
        self._loop_ids = [_loop_ids(node) for node in body]
        self._with_loop: dict[int, list[int]] = {}  # where in the body each loop is
        for at, loop_ids in enumerate(self._loop_ids):
            for loop_id in loop_ids:
                self._with_loop.setdefault(loop_id, []).append(at)
        # Of each node: by which loops are cut, by the change.
        self._cut: list[dict[frozenset[int], tuple[Node, ...]]] = [{} for _ in body]
        self._joined: list[dict[Change, tuple[tuple[Node, ...], Taken]]] = [{} for _ in body]
        self._found: list[dict[Change, tuple[Node, ...]]] = [{} for _ in body]

    def rewritten(self, show: Show) -> tuple[Node, ...]:
        """The same commands, with what pays by itself; ``show`` is given what each pass leaves."""
        passes = {"splitting": self._split, "unrolling": self._unrolled, "hoisting": self._part}
        for name, found in passes.items():
            if getattr(self.options, name):
                parts = [found(at, NO_CHANGE) for at in range(len(self.body))]
                show(name, _together(parts))
        nodes = self.changed(NO_CHANGE)
        if self.options.sums:
            show("sums", nodes)
        return nodes

    def changed(self, change: Change) -> tuple[Node, ...]:
        """The same commands, with a change besides."""
        parts = list(self._unchanged)
        for at in {at for loop_id in change.loop_ids for at in self._with_loop[loop_id]}:
            parts[at] = self._part(at, change.of(self._loop_ids[at]))
        return self._whole(parts)

    def is_joined(self, change: Change, loop_id: int, iterations: int) -> bool:
        """Whether the change, or what pays by itself, joins so many iterations of a loop
        already."""
        for at in self._with_loop[loop_id]:
            _, taken = self._joined_in(at, change.of(self._loop_ids[at]))
            found = taken.get(loop_id, set())
            if any(factor != min(extent, iterations) for extent, factor in found):
                return False
        return True

    def without_unrolling(self) -> tuple[Node, ...]:
        """The same commands, with the other passes."""
        parts = [self._split(at, NO_CHANGE) for at in range(len(self.body))]
        if self.options.hoisting:
            parts = [hoisted(part, self._hoists) for part in parts]
        return self._whole(parts)

    def _whole(self, parts: Iterable[tuple[Node, ...]]) -> tuple[Node, ...]:
        nodes = _together(parts)
        return shared(nodes, self._users) if self.options.sums else nodes

    @cached_property
    def _unchanged(self) -> list[tuple[Node, ...]]:
        return [self._part(at, NO_CHANGE) for at in range(len(self.body))]

    def _part(self, at: int, change: Change) -> tuple[Node, ...]:
        found = self._found[at].get(change)
        if found is None:
            found = self._unrolled(at, change)
            if self.options.hoisting:
                found = hoisted(found, self._hoists)
            self._found[at][change] = found
        return found

    def _unrolled(self, at: int, change: Change) -> tuple[Node, ...]:
        if not self.options.unrolling:
            return self._split(at, change)
        return self._joined_in(at, change)[0]

    def _joined_in(self, at: int, change: Change) -> tuple[tuple[Node, ...], Taken]:
        found = self._joined[at].get(change)
        if found is None:
            taken: Taken = {}
            before, joined = self._split(at, change), dict(change.joined)
            nodes = unrolled(before, joined, taken, self._unroller)
            found = self._joined[at][change] = nodes, taken
        return found

    def _split(self, at: int, change: Change) -> tuple[Node, ...]:
        if not self.options.splitting:
            return (self.body[at],)
        found = self._cut[at].get(change.cut)
        if found is None:
            found = self._splitter.split((self.body[at],), change.cut)
            self._cut[at][change.cut] = found
        return found


def _loop_ids(node: Node) -> frozenset[int]:
    return frozenset([part.loop_id for part in nodes_of((node,)) if isinstance(part, Loop)])


def _together(parts: Iterable[tuple[Node, ...]]) -> tuple[Node, ...]:
    return tuple(chain.from_iterable(parts))
