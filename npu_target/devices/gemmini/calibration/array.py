"""Programs whose cycles are those of the array and of what its sums pass on their way out."""

from __future__ import annotations

from collections.abc import Iterator

from ....program import Node, Program, device_command, var
from ..config import GemminiConfig
from ..isa import (
    GARBAGE,
    ComputeAccumulated,
    ComputePreloaded,
    ConfigEx,
    LocalAddress,
    Preload,
)
from .bodies import line, load, load_rows, program, store, store_rows, times

_TURNS = 32


def _setting(config: GemminiConfig) -> Node:
    return device_command(ConfigEx, weight_stationary=config.has_weight_stationary)


def _weights(config: GemminiConfig) -> int:
    """Their row: in another bank than the other operand, if there are several."""
    return config.spad_bank_rows if config.spad_banks > 1 else config.dim


def _operands(config: GemminiConfig) -> list[Node]:
    """A block of each operand in the scratchpad, and what is in force for loads and stores."""
    block = config.dim * config.dim
    return [
        _setting(config),
        load_rows(config, config.dim),
        store_rows(config.dim),
        load(config, 0, 0),
        load(config, block, _weights(config)),
    ]


def _pair(config: GemminiConfig, rows: int, is_new: bool, result: int = 0) -> list[Node]:
    """Multiply a block, or some rows of it, by weights that are new or there already."""
    dim = config.dim
    weights = LocalAddress.spad(_weights(config))
    return [
        device_command(
            Preload,
            bd=weights if is_new else GARBAGE,
            bd_rows=dim,
            bd_cols=dim,
            c=LocalAddress.acc(result),
            c_rows=rows,
            c_cols=dim,
        ),
        device_command(
            ComputePreloaded if is_new else ComputeAccumulated,
            a=LocalAddress.spad(0),
            a_rows=rows,
            a_cols=dim,
            bd=GARBAGE,
            bd_rows=dim,
            bd_cols=dim,
        ),
    ]


def products(config: GemminiConfig) -> Iterator[Program]:
    block = config.dim * config.dim
    first = _pair(config, config.dim, is_new=True)
    out = store(config, 0, LocalAddress.acc(0))
    for name, body in (
        ("new weights", _pair(config, config.dim, is_new=True)),
        ("the same weights", _pair(config, config.dim, is_new=False)),
        ("two rows each", _pair(config, 2, is_new=False)),
        ("settings between", [*_pair(config, config.dim, is_new=False), _setting(config)]),
    ):
        yield program(
            config,
            f"products, {name}",
            [*_operands(config), *first, times(_TURNS, *body), out],
            read=2 * block,
            written=block,
        )


def results(config: GemminiConfig) -> Iterator[Program]:
    """Sums that are scaled on their way to memory, alone and in a row."""
    dim, width = config.dim, min(config.mvout_max_cols, config.acc_rows)
    block = dim * dim
    blocks = width // dim
    sums = [
        node
        for index in range(blocks)
        for node in _pair(config, dim, is_new=True, result=index * dim)
    ]
    for name, cols, rows, turns in (
        ("single rows", dim, 1, 16),
        ("blocks", dim, dim, 16),
        ("full rows", width, dim, 8),
    ):
        yield program(
            config,
            f"store sums, {name}",
            [
                *_operands(config),
                store_rows(width, scale=0.01),
                *sums,
                times(turns, store(config, line(width * rows), LocalAddress.acc(0), cols, rows)),
            ],
            read=2 * block,
            written=turns * width * rows,
        )
    # A product, its result out, and the next one: each waits for the one before.
    yield program(
        config,
        "products and their results in turns",
        [
            *_operands(config),
            times(
                8,
                *_pair(config, dim, is_new=True),
                store(config, line(block), LocalAddress.acc(0)),
            ),
        ],
        read=2 * block,
        written=8 * block,
    )


def queues(config: GemminiConfig) -> Iterator[Program]:
    """More of one kind than its queue holds, and then those of another kind, which wait behind."""
    dim, width = config.dim, config.mvin_max_cols
    block, full = dim * dim, dim * width
    pairs = _pair(config, dim, is_new=True)
    # Products that take about as long as the loads, or the stores, before them.
    for count in (4, 12):
        loads = [
            load(config, 2 * block + (count * var(0) + index) * full, _free(config, index), width)
            for index in range(count)
        ]
        yield program(
            config,
            f"{count} loads, then products",
            [
                *_operands(config),
                load_rows(config, width),
                times(4, *loads, times(8 * count, *pairs, loop_id=1)),
            ],
            read=2 * block + 4 * count * full,
        )
    for count in (2, 8):
        stores = [
            store(config, (count * var(0) + index) * full, LocalAddress.spad(0))
            for index in range(count)
        ]
        yield program(
            config,
            f"{count} stores, then products",
            [
                *_operands(config),
                store_rows(width),
                times(4, *stores, times(8 * count, *pairs, loop_id=1)),
            ],
            read=2 * block,
            written=4 * count * full,
        )
    # Products first, and loads behind them.
    for count in (4, 24):
        loads = [
            load(config, 2 * block + (count * var(0) + index) * full, _free(config, index), width)
            for index in range(4)
        ]
        yield program(
            config,
            f"{count} products, then loads",
            [
                *_operands(config),
                load_rows(config, width),
                times(4, *pairs * count, *loads),
            ],
            read=2 * block + 4 * count * full,
        )


def _free(config: GemminiConfig, index: int) -> int:
    """A row of the scratchpad behind the operands, for so many full loads before this one."""
    first, rows = 2 * config.dim, config.mvin_max_cols
    return first + index % max(1, (config.spad_bank_rows - first) // rows) * rows
