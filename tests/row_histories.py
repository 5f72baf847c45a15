"""What happens to each row of the device's memories as a stream of commands goes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from npu_target import isa
from npu_target.config import NpuConfig

Words = tuple[int, int, int]


def row_histories(stream: Iterable[Words], config: NpuConfig) -> dict[Any, list[list[Any]]]:
    """For each row: its writes in order, each with the reads behind it in any order. A command is
    told by its words and the settings that it obeys."""
    settings: dict[Any, Any] = {}
    sums: Any = None  # the preload whose compute is to come: that is what writes to its rows
    histories: dict[Any, list[list[Any]]] = defaultdict(lambda: [[]])
    for words in stream:
        command = isa.decode(*words)
        if isinstance(command, isa.ConfigLd):
            settings[isa.LOADS[command.id]] = command
        elif isinstance(command, (isa.ConfigSt, isa.ConfigEx)):
            settings[type(command)] = command
        else:
            obeyed = settings_of(command, settings)
            for row, writes in set(touched_rows(command, obeyed, config)):
                if writes:
                    histories[row].append([(words, obeyed)])
                else:
                    histories[row][-1].append((words, obeyed))
            if isinstance(command, isa.Preload):
                sums = command
            elif isinstance(command, isa.COMPUTES):
                for row, _ in _rows(sums.c, sums.c_rows, 1, True):
                    histories[row].append([(sums, words, obeyed)])
    return {row: [[*w[:1], *sorted(w[1:], key=repr)] for w in h] for row, h in histories.items()}


def settings_of(command: isa.DeviceCommand, settings: dict[Any, Any]) -> Any:
    """The settings that a command obeys, of those in force."""
    if isinstance(command, isa.LOADS):
        return settings.get(type(command))
    return settings.get(isa.ConfigSt if isinstance(command, isa.Mvout) else isa.ConfigEx)


def _rows(local: isa.LocalAddress, number: int, stride: int, writes: bool) -> Any:
    for index in () if local.is_garbage else range(number):
        yield (local.accumulator, local.row + index * stride), writes


def touched_rows(command: Any, obeyed: Any, config: NpuConfig) -> Iterable[tuple[Any, bool]]:
    """Rows (whether of the accumulator, and which) with whether the command writes them; of a
    preload without those of the sums."""
    if isinstance(command, (*isa.LOADS, isa.Mvout)):
        is_load = isinstance(command, isa.LOADS)
        block_rows = obeyed.block_stride if is_load else config.dim
        pools = not is_load and obeyed.pool_stride
        number = obeyed.out_rows * obeyed.out_cols if pools else command.rows
        for block in range(-(-command.cols // config.dim)):
            local = command.local
            first = isa.LocalAddress(local.row + block * block_rows, local.accumulator)
            yield from _rows(first, number, 1, is_load)
    elif isinstance(command, isa.Preload):
        yield from _rows(command.bd, command.bd_rows, 1, False)
    elif isinstance(command, isa.COMPUTES):
        yield from _rows(command.a, command.a_rows, obeyed.a_stride, False)
        yield from _rows(command.bd, command.bd_rows, 1, False)
