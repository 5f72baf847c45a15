"""Loads that may overtake each other: what the device does not order in a program.

Loads start in order, but their bytes come from DRAM in any. A load waits for an older one only
through a command of another queue between them that the rows of both hold up.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from row_histories import row_histories

from npu_target import isa
from npu_target.program import Program

_LOADS = {load.funct for load in isa.LOADS}


def unordered_loads(program: Program) -> list[tuple[Any, Any, Any]]:
    """Rows that two loads write with nothing between them that waits for the first one, with the
    words of both. (Every load writes its rows, an accumulating one after reading them.)"""
    addresses = {}
    for index, arg in enumerate(program.args):
        addresses[arg.name] = 0x8000_0000 + (index << 26)
    found = []
    for row, history in row_histories(program.expand(addresses), program.config).items():
        for (first, *reads), (second, *_) in pairwise(write for write in history if write):
            if not reads and _is_load(first) and _is_load(second):
                found.append((row, first[0], second[0]))
    return found


def _is_load(write: tuple[Any, ...]) -> bool:
    """Whether a write of a row's history is no sum that the array made."""
    return isinstance(write[0], tuple) and write[0][0] in _LOADS
