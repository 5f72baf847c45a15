"""What was made of nodes, kept: of changes to a program that are tried one after the other most
leave most of its nodes as they are."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from ..program import Command, Loop, Node

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """By nodes' identity, since comparing large ones takes as long as making something of them,
    and by all else that it depends on. The nodes are kept as well, so that no other one gets the
    same identity."""

    def __init__(self) -> None:
        self._made: dict[Hashable, dict[int, tuple[Node, Made]]] = {}

    def at(self, place: Hashable) -> dict[int, tuple[Node, Made]]:
        """What was made at a place: by the node's `id` the node and that."""
        found = self._made.get(place)
        if found is None:
            found = self._made[place] = {}
        return found


class LoopIds:
    """The ids of loops and conditions that nodes are and have inside."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Node, frozenset[int]]] = {}

    def of(self, loop: Loop) -> frozenset[int]:
        """With its own."""
        found = self._found.get(id(loop))
        if found is None:
            inside = [self.of(node) for node in loop.body if not isinstance(node, Command)]
            found = self._found[id(loop)] = loop, frozenset((loop.loop_id,)).union(*inside)
        return found[1]
