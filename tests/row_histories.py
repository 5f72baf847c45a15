"""What happens to each row of the device's memories as a stream of commands goes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from npu_target import isa
from npu_target.config import NpuConfig

Words = tuple[int, int, int]


def obeying(stream: Iterable[Words]) -> Iterator[tuple[isa.DeviceCommand, Any]]:
    """The commands of a stream but for settings, each with the settings that it obeys. Which of the
    device's settings for loads holds them does not matter."""
    settings: dict[Any, Any] = {}
    for words in stream:
        command = isa.decode(*words)
        if isinstance(command, isa.ConfigLd):
            settings[isa.LOADS[command.id]] = replace(command, id=0)
        elif isinstance(command, (isa.ConfigSt, isa.ConfigEx)):
            settings[type(command)] = command
        elif isinstance(command, isa.LOADS):
            load = isa.Mvin(**{f.name: getattr(command, f.name) for f in fields(command)})
            yield load, settings_of(command, settings)
        else:
            yield command, settings_of(command, settings)


def told(stream: Iterable[Words], config: NpuConfig) -> list[Any]:
    """What tells commands from others."""
    return [_told(command, obeyed, config) for command, obeyed in obeying(stream)]


def _told(command: isa.DeviceCommand, obeyed: Any, config: NpuConfig) -> Any:
    if isinstance(command, isa.Mvin) and not command.dram_address and command.cols <= config.dim:
        return command, None  # no setting matters to zeros of one block of columns
    return command, obeyed


def row_histories(stream: Iterable[Words], config: NpuConfig) -> dict[Any, list[list[Any]]]:
    """For each row: its writes in order, each with the reads behind it in any order. A command is
    told by its words and the settings that it obeys; what the array adds, by the weights too."""
    sums: Any = None  # the preload whose compute is to come: that is what writes to its rows
    weights: Any = None  # where those came from that the array has
    histories: dict[Any, list[list[Any]]] = defaultdict(lambda: [[]])
    for command, obeyed in obeying(stream):
        mine = _told(command, obeyed, config)
        for row, writes in set(touched_rows(command, obeyed, config)):
            if writes:
                histories[row].append([mine])
            else:
                histories[row][-1].append(mine)
        if isinstance(command, isa.Preload):
            sums = command
            weights = weights if command.bd.is_garbage else command.bd
        elif isinstance(command, isa.COMPUTES):
            for row, _ in _rows(sums.c, sums.c_rows, 1, True):
                histories[row].append([(sums, weights, mine)])
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
