"""Operations of copies, made once for all iterations of loops around in which they differ by
addresses alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..device.copy_rules import CopyRules
from ..device.emission import Emission
from ..passes.linear import Linear
from ..passes.transfers import LoopExtent
from .nests import CopyNest
from .operations import CopyOperation, LoopIds, values_of


class _Template(NamedTuple):
    """The operations of a nest in symbols, and the loops of pieces that they were made with."""

    operations: tuple[CopyOperation, ...]
    made_loops: tuple[LoopExtent, ...]


class CopyTemplates:
    """What a walk knows of its copies: the settings that they name are those of its phase."""

    def __init__(self, emission: Emission, rules: CopyRules, ids: LoopIds) -> None:
        self._emission = emission
        self._rules = rules
        self._ids = ids
        self._known: dict[tuple[CopyNest, tuple[Linear, ...]], _Template] = {}

    def operations(self, nest: CopyNest, values: Mapping[int, Linear]) -> list[CopyOperation]:
        """What a copy does, in loops of its own, in the order in which that is issued; with one
        loop for those that advance evenly.

        Parameters
        ----------
        values : of the symbols of the loops around.

        Raises
        ------
        CodegenError
            for a copy that the device has no commands for.
        """
        deciding = nest.deciding(values)
        template = self._known.get(key := (nest, tuple(deciding.values())))
        own = self._ids.like(nest.loops)
        if template is None:
            template = self._known[key] = self._made(nest, deciding)
            own += template.made_loops  # nothing else has them yet
        else:
            own += self._ids.like(template.made_loops)
        before = (*nest.loops, *template.made_loops)
        ids = {loop.loop_id: new.loop_id for loop, new in zip(before, own, strict=True)}
        inner = {**values, **values_of(before, own)}
        return [
            operation.substitute(
                inner,
                tuple(
                    [LoopExtent(ids[old], extent, name) for old, extent, name in operation.loops]
                ),
            )
            for operation in template.operations
        ]

    def _made(self, nest: CopyNest, deciding: Mapping[int, Linear]) -> _Template:
        first = self._ids.number
        operations = [
            operation.merged()
            for part, transfer in nest.transfers(deciding, self._rules)
            for operation in self._emission.copies(part, transfer)
        ]
        return _Template(tuple(operations), self._ids.since(first))
