"""What tiles of a multiply-accumulate ask of each part of the device, told from their sizes.

Tile sizes are NumPy arrays, of many tiles at once; so is all that is told of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...topi.blocking import LEAST_STEP_ROWS, ceil_div
from ...topi.mac_operator import MacOperator
from ...topi.mac_shape import MacShape, Sizes, Tensor
from ...topi.mac_structure import MacStructure
from .config import GemminiConfig
from .engine_cycles import load_row_cycles, row_beats, store_row_cycles

Cycles = Any  # a number or an array of them, one a tile


class Copies(NamedTuple):
    """The copies of one tensor for a tile: cycles of their engine where the cache has the bytes,
    commands, bytes, and of these how many lie side by side in DRAM; ``total_bytes`` are the whole
    tensor's, ``line_bytes`` those that follow each other there.  ``beats`` are the transfers of the
    bus to the cache; of them ``later_beats`` find a line that an earlier one brought."""

    cycles: Cycles = 0
    commands: Cycles = 0
    n_bytes: Cycles = 0
    run_bytes: Cycles = 1
    total_bytes: int = 0
    line_bytes: int = 1
    beats: Cycles = 0
    later_beats: Cycles = 0


class TileWork(NamedTuple):
    """One tile, of a part of the reduction where that is split: cycles of the array, its steps
    and blocks of weights; copies of the operands, of the bias (once a tile of sums) and of the
    sums."""

    array_cycles: Cycles
    steps: Cycles
    weight_blocks: Cycles
    inputs: Copies
    weights: Copies
    bias: Copies
    sums: Copies


def tile_work(
    operator: MacOperator,
    shape: MacShape,
    structure: MacStructure,
    tile: Sizes,
    config: GemminiConfig,
) -> TileWork:
    """The work of tiles in a structure."""
    rows = tile["lines"] * tile["steps"] * shape.rows
    positions = tile["kernel_h"] * tile["kernel_w"]
    weight_blocks = tile["blocks"] * tile["depth"] * positions
    if shape.windows:
        weight_blocks = tile["blocks"] * shape.reduction
    number, step_rows = _steps(shape, structure, tile)
    rows_cycles = number * np.maximum(step_rows, LEAST_STEP_ROWS)
    if shape.same_b_rows is None:  # else they may stay past all rows
        rows_cycles = np.maximum(rows_cycles, shape.dim)
    inputs = _inputs(shape, structure, tile, config)
    weights = _weights(shape, tile, config, packed=bool(operator.layout_free))
    bias = Copies()
    if getattr(operator, "bias", False):
        cycles = np.maximum(rows * tile["blocks"], config.l2_hit_latency_cycles)
        commands = ceil_div(rows, shape.dim) * tile["blocks"]
        bias = Copies(cycles, commands, beats=commands * ceil_div(4 * shape.dim, config.bus_bytes))
    return TileWork(
        weight_blocks * rows_cycles,
        weight_blocks * number,
        weight_blocks,
        inputs,
        weights,
        bias,
        _sums(shape, structure, tile, number, config),
    )


def _steps(shape: MacShape, structure: MacStructure, tile: Sizes) -> tuple[Cycles, Cycles]:
    """Steps of a block of weights and their rows, as the compiler cuts them: anew along what
    follows each other, unless sums lie side by side."""
    lines, line = tile["lines"], tile["steps"] * shape.rows
    if structure.wide:
        return lines * tile["steps"], shape.rows
    if shape.kernel[1] > 1 and shape.image_rows is None:  # lines have a halo between them
        return lines * ceil_div(line, shape.dim), line / ceil_div(line, shape.dim)
    rows = lines * line
    return ceil_div(rows, shape.dim), rows / ceil_div(rows, shape.dim)


def _inputs(shape: MacShape, structure: MacStructure, tile: Sizes, config: GemminiConfig) -> Copies:
    if shape.same_a_rows is not None:
        return Copies()
    if shape.windows is not None:
        return _windows(shape, tile, config)
    if shape.image_rows is not None:
        assert shape.window is not None
        out_w = shape.window.out_w
        lines = shape.image_rows // out_w
        return _loads(lines, out_w, tile["depth"], shape.inputs, config)
    lines = (tile["lines"] - 1) * shape.strides[0] + tile["kernel_h"]
    pixels = (tile["steps"] * shape.rows - 1) * shape.strides[1] + tile["kernel_w"]
    channels = tile["depth"]
    if shape.depthwise:
        channels = shape.loaded(structure, tile)["blocks"]
    return _loads(lines, pixels, channels, shape.inputs, config)


def _weights(shape: MacShape, tile: Sizes, config: GemminiConfig, *, packed: bool) -> Copies:
    if shape.same_b_rows is not None:
        return Copies()
    if shape.windows is not None:
        return _loads(
            shape.reduction, shape.dim, tile["blocks"], shape.weights, config, packed=packed
        )
    positions = tile["kernel_h"] * tile["kernel_w"]
    if shape.depthwise:
        return _loads(
            positions * tile["blocks"], shape.dim, 1, shape.weights, config, packed=packed
        )
    return _loads(
        positions * tile["depth"], shape.dim, tile["blocks"], shape.weights, config, packed=packed
    )


def _loads(
    runs: Cycles,
    rows: Cycles,
    blocks: Cycles,
    tensor: Tensor,
    config: GemminiConfig,
    *,
    packed: bool = False,
) -> Copies:
    """Loads of ``runs`` times ``rows`` rows of ``blocks`` blocks from a tensor, which may be
    ``packed``."""
    dim = config.dim
    row = _Rows(tensor, config.mvin_max_cols // dim, config, packed=packed)
    row_cycles = np.maximum(row.beats, np.arange(row.most + 1))
    cycles = 0
    for rows_of, commands in ((dim, rows // dim), (rows % dim, np.minimum(rows % dim, 1))):
        for n_blocks, times in (
            (row.most, blocks // row.most),
            (blocks % row.most, np.minimum(blocks, 1)),
        ):
            each = np.maximum(rows_of * row_cycles[n_blocks], config.l2_hit_latency_cycles)
            is_any = np.minimum(np.minimum(rows_of, n_blocks), 1)
            cycles = cycles + commands * times * is_any * each
    return Copies(
        cycles=runs * cycles,
        commands=runs * ceil_div(rows, dim) * ceil_div(blocks, row.most),
        n_bytes=runs * rows * row.mean(row.n_bytes, blocks, row.most),
        run_bytes=np.minimum(blocks * dim, tensor.width),
        total_bytes=tensor.elements,
        line_bytes=tensor.width,
        beats=runs * rows * row.mean(row.beats, blocks, row.most),
        later_beats=runs * rows * row.mean(row.later_beats, blocks, row.most),
    )


class _Rows:
    """A row of a tensor of so many blocks, up to the ``most`` that a command takes: its bytes, its
    transfers of the bus, and how many of these find a line that an earlier one brought (arrays by
    the number of blocks)."""

    def __init__(
        self, tensor: Tensor, most: int, config: GemminiConfig, *, packed: bool = False
    ) -> None:
        dim = config.dim
        self.most = most
        self._blocks = ceil_div(tensor.width, dim)
        self._width_bytes = tensor.element_bytes * (self._blocks * dim if packed else tensor.width)
        sizes = [min(n * dim * tensor.element_bytes, self._width_bytes) for n in range(most + 1)]
        found = [row_beats(size, self._width_bytes, config) for size in sizes]
        self.n_bytes = np.array(sizes)
        self.beats = np.array([beats.total for beats in found])
        self.later_beats = np.array([beats.later for beats in found])

    def mean(self, by_number: np.ndarray, blocks: Cycles, together: Cycles) -> Cycles:
        """Of a row of ``blocks`` blocks, moved so many ``together``, on average over the tensor's
        blocks: the last one may not be full."""
        whole = self._of(self.n_bytes, blocks, together) * ceil_div(self._blocks, blocks)
        share = np.minimum(1, self._width_bytes / np.maximum(1, whole))
        return share * self._of(by_number, blocks, together)

    @staticmethod
    def _of(by_number: np.ndarray, blocks: Cycles, together: Cycles) -> Cycles:
        return blocks // together * by_number[together] + by_number[blocks % together]


def _windows(shape: MacShape, tile: Sizes, config: GemminiConfig) -> Copies:
    """Loads of windows: rows that begin anywhere, and overlap."""
    assert shape.windows is not None and shape.window is not None
    parts, last = shape.windows, shape.windows.last
    rows = shape.a_rows({**tile, "lines": 1})
    lines = (tile["lines"] - 1) * shape.strides[0] + tile["kernel_h"]
    rows = rows // parts.depth // tile["kernel_h"]  # of a line, for each part
    commands = ceil_div(rows, config.dim)
    down, right = shape.window.strides
    apart = right * shape.input_channels
    cycles = 0
    for number, row_cycles in (
        (parts.number, load_row_cycles(parts.columns, 1, apart, config)),
        (1, max(last.lines, load_row_cycles(last.columns, 1, apart, config))),
        (int(bool(parts.beside)), 1),  # one row, again and again
    ):
        each = np.maximum(rows / commands * row_cycles, config.l2_hit_latency_cycles)
        cycles = cycles + number * lines * commands * each
    row = shape.inputs.width
    pixels = tile["lines"] * tile["steps"] * shape.rows
    return Copies(
        cycles=cycles,
        commands=parts.depth * lines * commands,
        n_bytes=pixels * down * right * shape.input_channels,
        run_bytes=row,
        total_bytes=shape.inputs.elements,
        line_bytes=row,
        beats=cycles,
    )


def _sums(
    shape: MacShape, structure: MacStructure, tile: Sizes, steps: Cycles, config: GemminiConfig
) -> Copies:
    """Stores of a tile's results: of requantized ones a command takes several blocks."""
    blocks, dim, out = tile["blocks"], shape.dim, shape.outputs
    rows = tile["lines"] * tile["steps"] * shape.rows
    item_bytes = out.element_bytes
    most = config.mvout_max_cols // dim if structure.wide and item_bytes == 1 else 1
    together = np.minimum(blocks, most)
    row = _Rows(out, most, config)
    row_cycles = np.array(
        [
            store_row_cycles(n * dim, item_bytes, config, beats=beats)
            for n, beats in enumerate(row.beats)
        ]
    )
    return Copies(
        cycles=rows * ceil_div(blocks, together) * row_cycles[together],
        commands=ceil_div(blocks, together) * steps,
        n_bytes=rows * row.mean(row.n_bytes, blocks, together),
        run_bytes=np.minimum(together * dim, out.width) * item_bytes,
        total_bytes=out.elements * item_bytes,
        line_bytes=out.width * item_bytes,
        beats=rows * row.mean(row.beats, blocks, together),
    )
