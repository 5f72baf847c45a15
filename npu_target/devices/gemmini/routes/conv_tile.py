"""The tile that the vendor's C library chooses for a convolution.

After `tiled_conv_stride_auto` of the public `gemmini.h`, written anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..config import GemminiConfig


class Tile(NamedTuple):
    """Sizes, or first elements, of the part that one LOOP_CONV_WS computes; rows and columns of
    the output are those after pooling."""

    batches: int
    pool_rows: int
    pool_cols: int
    out_channels: int
    kernel_rows: int
    kernel_cols: int
    in_channels: int


_ROWS, _COLS = Tile._fields.index("pool_rows"), Tile._fields.index("pool_cols")
_CHANNELS = (Tile._fields.index("out_channels"), Tile._fields.index("in_channels"))


@dataclass(frozen=True)
class ConvCall:
    """A convolution of the library: square kernel, one stride, one padding, maybe pooled.

    Arguments 0 and 1 are the image (NHWC) and the weights ([kernel, kernel, in, out], depthwise
    [channels, kernel, kernel]), `bias` (None: without) and `out` the indices of the others.
    """

    batch: int
    in_shape: tuple[int, int]  # rows, columns
    in_channels: int
    out_channels: int
    kernel: int
    stride: int
    padding: int
    bias: int | None
    out: int
    scale: float
    relu: bool
    has_pool: bool = False
    pool_size: int = 1
    pool_stride: int = 1
    pool_padding: int = 0
    depthwise: bool = False

    @property
    def out_shape(self) -> tuple[int, int]:
        """Rows and columns before pooling."""
        rows, cols = (
            (size + 2 * self.padding - self.kernel) // self.stride + 1 for size in self.in_shape
        )
        return rows, cols

    @property
    def wholes(self) -> Tile:
        """The whole problem; one channel of it if depthwise."""
        rows, cols = (
            (size + 2 * self.pool_padding - self.pool_size) // self.pool_stride + 1
            for size in self.out_shape
        )
        channels = (1, 1) if self.depthwise else (self.out_channels, self.in_channels)
        return Tile(self.batch, rows, cols, channels[0], self.kernel, self.kernel, channels[1])

    @property
    def downsample(self) -> bool:
        """Whether the loop loads every second pixel of every second line only."""
        return (
            not self.depthwise
            and (self.kernel, self.stride, self.padding) == (1, 2, 0)
            and not self.has_pool
            and all(size % 2 == 0 for size in self.in_shape)
        )


class TileSearch:
    """The library's way to `tile`: from everything, cut the largest size until two tiles fit the
    memories, then grow what can grow.

    Channels are cut by blocks of the array, the rest by one. Columns are not cut once they fit a
    step of the array, while there is more than one row. `checks` counts how often it computes
    whether a tile fits, which the library does on the host at every call.
    """

    def __init__(self, call: ConvCall, config: GemminiConfig) -> None:
        self.checks = 0
        self._call = call
        self._config = config
        self._wholes = call.wholes
        self._sizes = list(call.wholes)
        while not self._fits(self._sizes):
            self._cut()
        while self._grow(_COLS):
            pass
        grows = True
        while grows:
            grows = any([self._grow(index) for index in range(len(self._sizes))])
        self.tile = Tile(*self._sizes)

    def _cut(self) -> None:
        sizes, dim = self._sizes, self._config.dim
        candidates = [
            index
            for index in range(len(sizes))
            if not (index == _COLS and sizes[_COLS] <= dim and sizes[_ROWS] > 1)
        ]
        largest = max(candidates, key=lambda index: sizes[index])  # the first of equals
        if largest in _CHANNELS:
            sizes[largest] = max(1, (sizes[largest] - 1) // dim * dim)
        else:
            sizes[largest] -= 1

    def _grow(self, index: int) -> bool:
        """Add one to a size if it may be; whether it was."""
        if self._sizes[index] == self._wholes[index]:
            return False
        larger = [size + (number == index) for number, size in enumerate(self._sizes)]
        if not self._fits(larger):
            return False
        self._sizes = larger
        return True

    def _fits(self, sizes: list[int]) -> bool:
        """Whether half of each memory holds the tile, by the library's own, generous, estimate."""
        self.checks += 1
        call, config, tile = self._call, self._config, Tile(*sizes)
        out_rows, out_cols = (
            count * call.pool_stride + call.pool_size - 1
            for count in (tile.pool_rows, tile.pool_cols)
        )
        in_rows, in_cols = (
            (outs * call.stride + taps - 1) >> call.downsample
            for outs, taps in ((out_rows, tile.kernel_rows), (out_cols, tile.kernel_cols))
        )
        in_blocks, out_blocks = (
            -(-channels // config.dim) for channels in (tile.in_channels, tile.out_channels)
        )
        a_rows = in_blocks * tile.batches * in_rows * in_cols
        b_rows = out_blocks * tile.kernel_rows * tile.kernel_cols * tile.in_channels
        c_rows = out_blocks * tile.batches * out_rows * out_cols
        return a_rows + b_rows <= config.spad_rows // 2 and c_rows <= config.acc_rows // 2
