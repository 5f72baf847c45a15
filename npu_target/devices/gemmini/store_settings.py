"""As few settings of stores by block as there can be: one where the block changes, and one before a
loop in all of which it is the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...codegen.placed import Placed, PlacedCopy, PlacedLoop, PlacedNodes
from ...passes.linear import Linear
from .block_setting import BlockSetting
from .copies import Move


class _Key(NamedTuple):
    """What a setting is made of."""

    setting: BlockSetting
    block: Linear


def without_repeated(placed: Sequence[Placed]) -> tuple[Placed, ...]:
    """What is placed, without settings that the device holds already."""
    return _Sparing().all_of(placed)


class _Sparing:
    """Goes through what is placed in its order; ``held`` is the setting that the device has by
    then, None where it is not known or none by block."""

    def __init__(self) -> None:
        self.held: _Key | None = None

    def all_of(self, placed: Sequence[Placed]) -> tuple[Placed, ...]:
        """The same with fewer settings."""
        return tuple([each for one in placed for each in self._of(one)])

    def _of(self, one: Placed) -> Sequence[Placed]:
        needed = set(_needed(one))
        if not needed:
            return [one]
        key, *others = needed
        inside = list(_loops_of(one))
        if not others and key is not None and not _depends_on(key, inside):
            if key == self.held:
                return [_bare(one)]
            # What is under a condition would be set in vain where that is not met.
            if not (isinstance(one, PlacedCopy) and one.operation.guards):
                self.held = key
                return [PlacedNodes((key.setting.command(key.block, ()),)), _bare(one)]
        self.held = None  # also at the start of a loop, which another iteration may precede
        if isinstance(one, PlacedLoop):
            one = one._replace(body=self.all_of(one.body))
            if self.held is not None and _depends_on(self.held, inside):
                self.held = None
        return [one]


def _needed(one: Placed) -> Iterator[_Key | None]:
    """The settings by block in it, None for others of stores."""
    if isinstance(one, PlacedLoop):
        for part in one.body:
            yield from _needed(part)
    elif isinstance(one, PlacedCopy) and not one.operation.is_load:
        move = one.operation.kind.command
        assert isinstance(move, Move)
        if move.block_setting is not None:
            yield _Key(move.block_setting, one.operation.block)
        elif move.settings:
            yield None


def _loops_of(one: Placed) -> Iterator[int]:
    """The ids of all loops in it."""
    if isinstance(one, PlacedLoop):
        yield one.loop.loop_id
        for part in one.body:
            yield from _loops_of(part)
    elif isinstance(one, PlacedCopy):
        for loop in one.operation.loops:
            yield loop.loop_id


def _depends_on(key: _Key, loop_ids: Sequence[int]) -> bool:
    return any(key.block.depends_on(loop_id) for loop_id in loop_ids)


def _bare(one: Placed) -> Placed:
    """Without its settings by block."""
    if isinstance(one, PlacedLoop):
        return one._replace(body=tuple([_bare(part) for part in one.body]))
    if not isinstance(one, PlacedCopy) or one.operation.is_load:
        return one
    move = one.operation.kind.command
    assert isinstance(move, Move)
    kind = one.operation.kind._replace(command=move._replace(block_setting=None))
    return one._replace(operation=one.operation._replace(kind=kind))
