"""Loads that may overtake each other: what the device does not order in a program.

Loads start in order, but their bytes come from DRAM in any. A load waits for an older one only
through a command of another queue between them that the rows of both hold up.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from row_histories import accesses, settings_of

from npu_target.devices.gemmini import isa
from npu_target.program import Program

Row = tuple[bool, int]  # whether of the accumulator, and which


def unordered_loads(program: Program) -> list[tuple[Row, Any, Any]]:
    """Rows that two loads write in no order, and that something reads, with both loads."""
    addresses = {}
    for index, arg in enumerate(program.places):
        addresses[arg.name] = 0x8000_0000 + (index << 26)
    loads: list[Any] = []
    waiting: dict[int, list[set[Row]]] = defaultdict(list)  # by load: rows of what waits for it
    owner: dict[Row, int] = {}  # the load that wrote to a row last
    unread: dict[Row, tuple[Row, Any, Any]] = {}
    found: list[tuple[Row, Any, Any]] = []
    settings: dict[Any, Any] = {}
    for words in program.expand(addresses):
        command = isa.COMMANDS.decode(*words)
        if isinstance(command, isa.ConfigLd):
            settings[isa.LOADS[command.id]] = command
        elif isinstance(command, (isa.ConfigSt, isa.ConfigEx)):
            settings[type(command)] = command
        rows = _rows(command, settings, program)
        if isinstance(command, isa.LOADS):
            for row in rows:
                first = owner.get(row)
                # What adds reads the row as well, and there is an end to it in any case.
                if first is not None and not any(rows & x for x in waiting[first]):
                    race = (row, loads[first], command)
                    if command.local.accumulate:
                        found.append(race)
                    else:
                        unread[row] = race
                else:
                    unread.pop(row, None)
                owner[row] = len(loads)
            loads.append(command)
            continue
        for load in {owner[row] for row in rows if row in owner}:
            waiting[load].append(rows)
        found += [unread.pop(row) for row in rows if row in unread]
    return found


def _rows(command: Any, settings: dict[Any, Any], program: Program) -> set[Row]:
    obeyed = settings_of(command, settings)
    rows = {access.row for access in accesses(command, obeyed, program.config)}
    if isinstance(command, isa.Preload) and not command.c.is_garbage:
        sums = command.c
        rows |= {(sums.accumulator, sums.row + index) for index in range(command.c_rows)}
    return rows
