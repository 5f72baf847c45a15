"""Traces of schedules in the plain form that logs and processes exchange, and what is open in them:
the sizes of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import tvm_ffi
from tvm.ir import save_json
from tvm.s_tir.schedule import Trace
from tvm.tirx import IndexMap

from ..topi.blocking import divisors

_SAMPLED = "SamplePerfectTile"
# What `Trace.as_json` calls before it makes lists of the result, of which `to_plain` makes lists
# again: it takes most of the time.
_as_json = tvm_ffi.get_global_func("s_tir.schedule.TraceAsJSON")


def trace_json(trace: Trace) -> Any:
    """A trace in JSON form, without instructions that have no effect: those differ between ways
    to the same schedule."""
    return to_plain(_as_json(trace.simplified(remove_postproc=True), False))


@dataclass(frozen=True)
class Structure:
    """A trace in JSON form: its instructions, and which of them sample the tiles of a loop of
    which extent."""

    instructions: Any
    sampled: tuple[int, ...]
    extents: tuple[int, ...]

    @classmethod
    def of(cls, trace: Any) -> Structure:
        """Raises ValueError for a trace in which anything but the tiles of a loop, an outer and
        an inner one, is open."""
        instructions, decisions = trace
        for index, decision in decisions:
            kind = instructions[index][0]
            if kind != _SAMPLED or len(decision) != 2:
                raise ValueError(
                    f"{kind} decides {decision}; a search needs {_SAMPLED} with n=2 only"
                )
        return cls(
            instructions,
            tuple(index for index, _ in decisions),
            tuple(prod(decision) for _, decision in decisions),
        )

    def trace(self, tiles: Sequence[int]) -> Any:
        """The trace with these inner sizes, in JSON form."""
        decided = zip(self.sampled, self.extents, tiles, strict=True)
        return [self.instructions, [[i, [extent // tile, tile]] for i, extent, tile in decided]]

    @property
    def options(self) -> list[list[int]]:
        """The sizes that each inner loop may have, in ascending order."""
        return [divisors(extent) for extent in self.extents]

    @property
    def size(self) -> int:
        return prod(len(sizes) for sizes in self.options)


def to_plain(value: Any) -> Any:
    """MetaSchedule's JSON form as Python's own lists, dicts, strings and numbers."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (tvm_ffi.Array, list, tuple)):
        return [to_plain(item) for item in value[:]]  # a slice's items take less than each its own
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (tvm_ffi.Map, dict)):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, IndexMap):
        return str(save_json(value))
    return value.value  # IntImm, FloatImm
