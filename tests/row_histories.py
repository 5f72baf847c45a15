"""What happens to each row of the device's memories as a stream of commands goes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from npu_target.device.commands import DeviceCommand
from npu_target.devices.gemmini import GemminiConfig, isa

Words = tuple[int, int, int]


class Access(NamedTuple):
    """A row (whether of the accumulator, and which) that a command writes, or reads, and what comes
    of it, or goes into it."""

    row: tuple[bool, int]
    writes: bool
    what: Any


def row_histories(stream: Iterable[Words], config: GemminiConfig) -> dict[Any, list[list[Any]]]:
    """For each row: its writes in order, each with the reads behind it in any order; what is added
    to it between two reads, in any order.

    How many rows a copy command moves, and which of the settings for loads it obeys, makes no
    difference. Of the array's sums, where the weights came from does.
    """
    settings: dict[Any, Any] = {}
    sums: Any = None  # the preload whose compute is to come: that is what writes to its rows
    weights: Any = None
    histories: dict[Any, list[list[Any]]] = defaultdict(lambda: [[]])
    for words in stream:
        command = isa.COMMANDS.decode(*words)
        if isinstance(command, isa.ConfigLd):
            settings[isa.LOADS[command.id]] = command
            continue
        if isinstance(command, (isa.ConfigSt, isa.ConfigEx)):
            settings[type(command)] = command
            continue
        obeyed = settings_of(command, settings)
        for row, writes, what in accesses(command, obeyed, config):
            if writes:
                histories[row].append([what])
            else:
                histories[row][-1].append(what)
        if isinstance(command, isa.Preload):
            sums = command
            weights = weights if command.bd.is_garbage else command.bd
        elif isinstance(command, isa.COMPUTES):
            for index, row in enumerate(_rows(sums.c, sums.c_rows)):
                a_row = command.a.row + index * obeyed.a_stride
                histories[row].append([(sums.c.accumulate, weights, a_row, obeyed)])
    return {
        row: _additions_sorted([[*w[:1], *sorted(w[1:], key=repr)] for w in history])
        for row, history in histories.items()
    }


def _additions_sorted(history: list[list[Any]]) -> list[list[Any]]:
    """The first element has what is read before all writes."""
    found = history[:1]
    additions: list[Any] = []
    for write, *reads in history[1:]:
        if not write[0]:  # whether it adds
            found += [[addition] for addition in sorted(additions, key=repr)]
            additions = []
            found.append([write])
        else:
            additions.append(write)
        if reads:
            found += [[addition] for addition in sorted(additions, key=repr)]
            additions = []
            found[-1] += reads
    return found + [[addition] for addition in sorted(additions, key=repr)]


def settings_of(command: DeviceCommand, settings: dict[Any, Any]) -> Any:
    """The settings that a command obeys, of those in force."""
    if isinstance(command, isa.LOADS):
        return settings.get(type(command))
    return settings.get(isa.ConfigSt if isinstance(command, isa.Mvout) else isa.ConfigEx)


def accesses(command: Any, obeyed: Any, config: GemminiConfig) -> Iterator[Access]:
    """The rows that a command reads and writes; of a preload without those of the sums."""
    if isinstance(command, isa.LOADS):
        yield from _loaded(command, obeyed, config)
    elif isinstance(command, isa.Mvout):
        yield from _stored(command, obeyed, config)
    elif isinstance(command, isa.Preload):
        for row in set(_rows(command.bd, command.bd_rows)):
            yield Access(row, False, (command, obeyed))
    elif isinstance(command, isa.COMPUTES):
        operands = [*_rows(command.a, command.a_rows, obeyed.a_stride)]
        for row in {*operands, *_rows(command.bd, command.bd_rows)}:
            yield Access(row, False, (command, obeyed))


def _loaded(command: Any, obeyed: isa.ConfigLd, config: GemminiConfig) -> Iterator[Access]:
    local, dim = command.local, config.dim
    is_wide = local.accumulator and not obeyed.shrunk
    for block, columns in _blocks(command.cols, dim):
        first = replace(local, row=local.row + block * obeyed.block_stride)
        for index, row in enumerate(_rows(first, command.rows)):
            what: Any = "zeros"
            if command.dram_address and obeyed.scale != 0.0:
                address = command.dram_address + block * dim * (4 if is_wide else 1)
                what = address + index * obeyed.stride_bytes, obeyed.scale, obeyed.shrunk
            yield Access(row, True, (local.accumulate, columns, what))


def _stored(command: isa.Mvout, obeyed: isa.ConfigSt, config: GemminiConfig) -> Iterator[Access]:
    local, dim = command.local, config.dim
    if obeyed.pool_stride:
        yield from _pooled(command, obeyed)
        return
    how = replace(obeyed, stride_bytes=0), local.full_width
    for block, columns in _blocks(command.cols, dim):
        first = replace(local, row=local.row + block * dim)
        for index, row in enumerate(_rows(first, command.rows)):
            address = command.dram_address + block * dim * (4 if local.full_width else 1)
            yield Access(row, False, (address + index * obeyed.stride_bytes, columns, how))


def _pooled(command: isa.Mvout, obeyed: isa.ConfigSt) -> Iterator[Access]:
    """Each pixel's window; how many windows a command takes makes no difference."""
    how = obeyed.scale, obeyed.activation, command.cols
    size, stride, line_rows = obeyed.pool_size, obeyed.pool_stride, obeyed.out_cols
    for line, pixel in product(range(obeyed.pool_out_rows), range(obeyed.pool_out_cols)):
        output = (line * obeyed.pool_out_dim + pixel) * obeyed.stride_bytes
        for down, right in product(range(size), range(size)):
            row = (line * stride + down) * line_rows + pixel * stride + right
            (at,) = _rows(replace(command.local, row=command.local.row + row), 1)
            yield Access(at, False, (command.dram_address + output, down, right, how))


def _blocks(columns: int, dim: int) -> Iterator[tuple[int, int]]:
    """Blocks of columns, and how many each has."""
    for block in range(-(-columns // dim)):
        yield block, min(dim, columns - block * dim)


def _rows(local: isa.LocalAddress, number: int, stride: int = 1) -> Iterator[tuple[bool, int]]:
    for index in () if local.is_garbage else range(number):
        yield local.accumulator, local.row + index * stride
