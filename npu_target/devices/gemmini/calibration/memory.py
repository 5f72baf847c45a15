"""Programs whose cycles are those of loads, of stores and of the memory behind them."""

from __future__ import annotations

from collections.abc import Iterator

from ....program import Node, Program
from ....program.expr import Expr
from ..config import GemminiConfig
from ..isa import LocalAddress
from .bodies import line, load, load_rows, program, store, store_rows, times

# Of an argument: hardware simulations load them, slowly.
_MOST_BYTES = 2**20
_TURNS = 16
_PASSES = 4  # over the same bytes, of which the first finds them in memory and others in the L2


def loads(config: GemminiConfig) -> Iterator[Program]:
    dim, width = config.dim, config.mvin_max_cols
    # A row alone: a latency, each time of the next line, and of one line that is there then.
    for name, step in (("new lines", 2 * config.l2_line_bytes), ("one line", 0)):
        yield program(
            config,
            f"single rows there and back, {name}",
            [
                load_rows(config, dim),
                store_rows(dim),
                times(
                    _TURNS,
                    load(config, line(step), rows=1),
                    store(config, line(dim), LocalAddress.spad(0), rows=1),
                ),
            ],
            read=_TURNS * step + dim,
            written=_TURNS * dim,
        )
    # Many under way, once over and then again.
    shapes = (
        ("rows of one block side by side", dim, dim, dim),
        ("rows of one block in lines of their own", dim, dim, max(dim, config.l2_line_bytes)),
        ("full rows side by side", width, dim, width),
        ("single full rows", width, 1, width),
        ("full rows 8 lines apart", width, dim, 8 * config.l2_line_bytes + width),
    )
    for name, cols, rows, stride in shapes:
        yield _passes(config, f"load {name}, once", cols, rows, stride, 1)
        yield _passes(config, f"load {name}, {_PASSES} times", cols, rows, stride, _PASSES)
    if config.has_mvin_scale:
        yield _passes(config, "load and scale", width, dim, width, _PASSES, scale=0.5)


def _passes(
    config: GemminiConfig,
    name: str,
    cols: int,
    rows: int,
    stride: int,
    passes: int,
    scale: float = 1.0,
    turns: int = _TURNS,
) -> Program:
    """Loads of the bytes behind each other, and all of it again."""
    step = rows * stride
    body = times(turns, load(config, line(step), _rows(config, cols, turns), cols, rows))
    return program(
        config,
        name,
        [load_rows(config, stride, scale), times(passes, body, loop_id=1)],
        read=(turns - 1) * step + (rows - 1) * stride + cols,
    )


def _rows(config: GemminiConfig, cols: int, turns: int) -> Expr | int:
    """Where in the scratchpad loads of so many columns go, one behind the other if there is room;
    nobody reads them."""
    rows = -(-cols // config.dim) * config.dim
    return line(rows) if (turns + 1) * rows <= config.spad_rows else 0


def stores(config: GemminiConfig) -> Iterator[Program]:
    dim, width = config.dim, config.mvin_max_cols
    for name, stride in (("side by side", width), ("apart", width + 8 * config.l2_line_bytes)):
        for passes in (1, _PASSES):
            body = times(
                _TURNS,
                store(config, line(dim * stride), LocalAddress.spad(0), cols=width),
            )
            yield program(
                config,
                f"store full rows {name}, {passes} times",
                [
                    load_rows(config, width),
                    store_rows(stride),
                    load(config, 0, cols=width),
                    times(passes, body, loop_id=1),
                ],
                read=dim * width,
                written=_TURNS * dim * stride,
            )
    # Parts of lines are read before they are written.
    stride = 2 * config.l2_line_bytes
    yield program(
        config,
        "store rows of one block in lines of their own",
        [
            load_rows(config, dim),
            store_rows(stride),
            load(config, 0),
            times(_TURNS, store(config, line(dim * stride), LocalAddress.spad(0))),
        ],
        read=dim * dim,
        written=_TURNS * dim * stride,
    )
    # A line a command, one after another.
    yield program(
        config,
        "store single full rows",
        [
            load_rows(config, width),
            store_rows(width),
            load(config, 0, cols=width),
            times(4 * _TURNS, store(config, line(width), LocalAddress.spad(0), width, 1)),
        ],
        read=dim * width,
        written=4 * _TURNS * width,
    )


def both(config: GemminiConfig) -> Iterator[Program]:
    """Loads and stores in turns, which share the cache and the bus."""
    dim, width = config.dim, config.mvin_max_cols
    for name, stride in (("side by side", width), ("apart", width + 8 * config.l2_line_bytes)):
        step, kept = dim * stride, config.spad_rows - width
        yield program(
            config,
            f"load and store in turns, {name}",
            [
                load_rows(config, stride),
                store_rows(stride),
                load(config, 0, kept, cols=width),
                times(
                    _TURNS,
                    load(config, line(step), _rows(config, width, _TURNS), cols=width),
                    store(config, line(step), LocalAddress.spad(kept), cols=width),
                ),
            ],
            read=_TURNS * step,
            written=_TURNS * step,
        )


def dram(config: GemminiConfig) -> Iterator[Program]:
    """Lines of the DRAM's rows in the orders in which its rules differ."""
    if not config.dram_banks:
        return
    width, line_bytes = config.mvin_max_cols, config.l2_line_bytes
    bank = config.dram_banks * line_bytes  # from a line to the next one of its bank
    far = config.dram_banks * config.dram_row_bytes  # and to the next row of it
    rows = config.dim // 2
    for name, stride in (
        ("of one row of a bank", bank),
        ("of a bank, each in another row", far),
        ("of other banks and rows", far + line_bytes),
    ):
        if stride * rows > _MOST_BYTES:
            continue
        turns = bank // width
        body = load(config, line(width), _rows(config, width, turns), width, rows)
        yield program(
            config,
            f"load lines {name}",
            [load_rows(config, stride), times(turns, body)],
            read=(rows - 1) * stride + bank,
        )
    # One line after another, each after the answer to the one before.
    for name, step in (("of a bank", bank), ("of the next bank", line_bytes + bank)):
        yield program(
            config,
            f"single lines {name} there and back",
            [
                load_rows(config, width),
                store_rows(width),
                times(
                    _TURNS,
                    load(config, line(step), cols=width, rows=1),
                    store(config, 0, LocalAddress.spad(0), width, 1),
                ),
            ],
            read=_TURNS * step,
            written=width,
        )
    # Long enough for refreshes, which come every so often.
    yield _passes(
        config, "load 64 KiB once", width, config.dim, width, 1, turns=2**16 // (config.dim * width)
    )


def write_backs(config: GemminiConfig) -> Iterator[Program]:
    """Lines of few sets of the cache, which evict each other after they were written."""
    width = config.mvout_max_cols
    way = config.l2_bytes // config.l2_ways
    rows = min(config.dim, config.l2_ways + 2)
    if way * rows > _MOST_BYTES:
        return
    setting = [load_rows(config, way), store_rows(way)]
    out = store(config, line(width), LocalAddress.spad(0), width, rows)
    yield program(
        config,
        "store lines of few sets of the L2",
        [*setting, load(config, 0, cols=width, rows=rows), _again(out)],
        read=way * rows,
        written=way * rows,
    )
    into = load(config, line(width), width, width, rows)
    yield program(
        config,
        "store and load lines of few sets of the L2",
        [*setting, load(config, 0, cols=width, rows=rows), _again(out, into)],
        read=way * rows,
        written=way * rows,
    )


def _again(*body: Node) -> Node:
    return times(_PASSES, times(8, *body), loop_id=1)
