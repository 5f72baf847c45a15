"""Streams of loop commands for tests: encoders, and tilings of whole problems into loops.

Written from the command set, not with the device's own, so that a wrong bit there shows here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from device_api.streams import Words, config_ex, config_ld, config_st

from npu_target.devices.gemmini import GemminiConfig

LOOP_WS, LOOP_CONV_WS = 8, 15


def pack_fields(*fields: tuple[int, int]) -> int:
    """A word of (value, lowest bit) fields."""
    return sum(value << low for value, low in fields)


@dataclass(frozen=True)
class MatmulTile:
    """One LOOP_WS; blocks and pads as (i, j, k), addresses and strides as (a, b, d, c)."""

    blocks: tuple[int, int, int]
    pads: tuple[int, int, int]
    addresses: tuple[int, int, int, int]
    strides: tuple[int, int, int, int]
    accumulates: bool = False
    full_c: bool = False
    low_d: bool = False
    transpose_a: bool = False
    transpose_b: bool = False
    residual_add: bool = False
    skipped: int = 0  # bits: loads of A, B, D, computes, stores
    spad_ids: tuple[int, int] = (0, 0)

    def words(self) -> list[Words]:
        a, b, d, c = self.addresses
        a_stride, b_stride, d_stride, c_stride = self.strides
        a_id, b_id = self.spad_ids
        i, j, k = self.blocks
        pad_i, pad_j, pad_k = self.pads
        flags = pack_fields(
            (self.accumulates, 0), (self.full_c, 1), (self.low_d, 2), (b_id, 16), (a_id, 18)
        )
        more = pack_fields(
            (self.transpose_a, 0), (self.transpose_b, 1), (self.residual_add, 2), (self.skipped, 3)
        )
        return [
            (9, pack_fields((pad_i, 0), (pad_j, 16), (pad_k, 32)),
             pack_fields((i, 0), (j, 16), (k, 32))),
            (10, a, b),
            (11, d, c),
            (12, a_stride, b_stride),
            (13, d_stride, c_stride),
            (LOOP_WS, flags, more),
        ]  # fmt: skip


@dataclass(frozen=True)
class MatmulProblem:
    """C[m, n] = A[m, k] x B[k, n] + D over `tile` blocks at a time; row strides in elements.

    A is stored [k, m] when transposed, B [n, k]. `d_address` 0: no D.
    """

    shape: tuple[int, int, int]  # m, n, k
    tile: tuple[int, int, int]  # blocks of i, j, k
    addresses: tuple[int, int, int, int]  # a, b, d, c
    strides: tuple[int, int, int, int]
    transpose_a: bool = False
    transpose_b: bool = False
    full_c: bool = False
    low_d: bool = False
    relu: bool = False
    scale: float = 1.0
    spad_ids: tuple[tuple[int, int], ...] = ((0, 0),)  # of the loops in turn

    def configuration(self, dim: int) -> list[Words]:
        a_stride, b_stride, d_stride, c_stride = self.strides
        d_bytes, c_bytes = (1 if self.low_d else 4), (4 if self.full_c else 1)
        return [
            config_ex(transpose_a=self.transpose_a, transpose_b=self.transpose_b),
            config_st(c_stride * c_bytes, self.scale, self.relu),
            config_ld(a_stride, 1.0, False, 0, dim),
            config_ld(b_stride, 1.0, False, 1, dim),
            config_ld(d_stride * d_bytes, 1.0, self.low_d, 2, dim),
        ]

    def words(self, config: GemminiConfig) -> list[Words]:
        words = self.configuration(config.dim)
        for number, tile in enumerate(self.tiles(config.dim)):
            a_id, b_id = self.spad_ids[number % len(self.spad_ids)]
            words += _with_ids(tile, a_id, b_id).words()
        return words

    def tiles(self, dim: int) -> Iterator[MatmulTile]:
        steps = [blocks * dim for blocks in self.tile]
        m, n, k = self.shape
        for i in range(0, m, steps[0]):
            for j in range(0, n, steps[1]):
                for kk in range(0, k, steps[2]):
                    yield self._tile(dim, (i, j, kk), steps)

    def _tile(self, dim: int, at: tuple[int, int, int], steps: list[int]) -> MatmulTile:
        sizes = [min(step, whole - start) for step, whole, start in zip(
            steps, self.shape, at, strict=True)]  # fmt: skip
        blocks = [-(-size // dim) for size in sizes]
        pads = [count * dim - size for count, size in zip(blocks, sizes, strict=True)]
        i, j, k = at
        a, b, d, c = self.addresses
        a_stride, b_stride, d_stride, c_stride = self.strides
        is_first, is_last = k == 0, k + steps[2] >= self.shape[2]
        a += k * a_stride + i if self.transpose_a else i * a_stride + k
        b += j * b_stride + k if self.transpose_b else k * b_stride + j
        d = d + (i * d_stride + j) * (1 if self.low_d else 4) if d and is_first else 0
        c = c + (i * c_stride + j) * (4 if self.full_c else 1) if is_last else 0
        return MatmulTile(
            (blocks[0], blocks[1], blocks[2]),
            (pads[0], pads[1], pads[2]),
            (a, b, d, c),
            self.strides,
            accumulates=bool(d) or not is_first,
            full_c=self.full_c,
            low_d=self.low_d,
            transpose_a=self.transpose_a,
            transpose_b=self.transpose_b,
        )


def _with_ids(tile: MatmulTile, a_id: int, b_id: int) -> MatmulTile:
    fields = {name: getattr(tile, name) for name in tile.__dataclass_fields__}
    return MatmulTile(**{**fields, "spad_ids": (a_id, b_id)})


@dataclass(frozen=True)
class ConvProblem:
    """A convolution over `tile` at a time, tensors stored as the flags say.

    `tile` is (batches, pooled rows, pooled columns, out channels, kernel rows, kernel columns,
    in channels). The input is [batch, rows, cols, channels], transposed 3120 [channels, rows,
    cols, batch]; the weights [kernel, kernel, in, out], 1203 [in, kernel, kernel, out], 0132
    [kernel, kernel, out, in]; the output [batch, rows, cols, channels], 1203 [rows, cols, batch,
    channels]. `bias_address` is not 0 even without a bias (`has_bias` says).
    """

    batch: int
    in_shape: tuple[int, int]  # rows, cols
    in_channels: int
    out_channels: int
    kernel: int
    addresses: tuple[int, int, int, int]  # input, weights, bias, output
    tile: tuple[int, int, int, int, int, int, int]
    stride: int = 1
    padding: int = 0
    kernel_dilation: int = 1
    input_dilation: int = 1
    pool: tuple[int, int, int] | None = None  # size, stride, padding
    has_bias: bool = True
    relu: bool = False
    scale: float = 1.0
    rotate_180: bool = False
    output_1203: bool = False
    weight_1203: bool = False
    weight_0132: bool = False
    input_3120: bool = False
    strides: tuple[int, int, int] | None = None  # input, weight, output; tight by default
    pixels_per_row: int = 1
    spad_ids: tuple[tuple[int, int], ...] = ((0, 0),)  # of the loops in turn

    @property
    def dilated_in(self) -> tuple[int, int]:
        rows, cols = ((n - 1) * self.input_dilation + 1 for n in self.in_shape)
        return rows, cols

    @property
    def out_shape(self) -> tuple[int, int]:
        reach = (self.kernel - 1) * self.kernel_dilation + 1
        rows, cols = ((n + 2 * self.padding - reach) // self.stride + 1 for n in self.dilated_in)
        return rows, cols

    @property
    def pooling(self) -> tuple[int, int, int]:
        return self.pool or (1, 1, 0)

    @property
    def pooled_shape(self) -> tuple[int, int]:
        size, stride, padding = self.pooling
        rows, cols = ((n + 2 * padding - size) // stride + 1 for n in self.out_shape)
        return rows, cols

    @property
    def element_strides(self) -> tuple[int, int, int]:
        return self.strides or (self.in_channels, self.out_channels, self.out_channels)

    @property
    def downsample(self) -> bool:
        """Whether the loop may leave out input pixels that nothing reads."""
        return (
            self.stride == 2 and self.kernel == 1 and self.padding == 0 and self.pool is None
            and self.input_dilation == 1 and not self.input_3120
            and all(n % 2 == 0 for n in self.in_shape)
        )  # fmt: skip

    def words(self) -> list[Words]:
        pixel_bytes = (
            self.batch * self.out_channels if self.output_1203 else self.element_strides[2]
        )
        words = [
            config_st(pixel_bytes, self.scale, self.relu),
            config_ex(
                transpose_a=self.input_3120,
                transpose_b=self.weight_0132,
                a_stride=self.stride >> self.downsample,
                c_stride=self.input_dilation,
            ),
        ]
        rows, cols = self.pooled_shape
        wholes = (self.batch, rows, cols, self.out_channels, self.kernel, self.kernel,
                  self.in_channels)  # fmt: skip
        for number, at in enumerate(_starts(wholes, self.tile)):
            sizes = [min(step, whole - start) for step, whole, start in zip(
                self.tile, wholes, at, strict=True)]  # fmt: skip
            words += self._loop(at, sizes, self.spad_ids[number % len(self.spad_ids)])
        return words

    def _edges(self, first: int, count: int, kernel_at: int, kernel_size: int, axis: int):
        """Of a tile along an axis: pads before and after, first input, pads of the pooling,
        output rows."""
        size, stride, padding = self.pooling
        out = first * stride - padding
        outs = count * stride + size - 1
        pool_before = max(0, -out)
        pool_after = max(0, out + outs - self.out_shape[axis])
        outs -= pool_before + pool_after
        begin = max(0, out) * self.stride + kernel_at * self.kernel_dilation - self.padding
        ins = outs * self.stride + (kernel_size - 1) * self.kernel_dilation
        before = min(ins, max(0, -begin))
        after = min(ins - before, max(0, begin + ins - self.dilated_in[axis]))
        if self.input_dilation == 2:
            # The unrolled loop counts the zeros between pixels from a padded edge on.
            before += before == 0 and begin % 2 != 0 and after < ins
            after += after == 0 and (begin + ins) % 2 != 1 and before < ins
        return (
            before,
            after,
            (begin + before) // self.input_dilation,
            (pool_before, pool_after),
            outs,
        )

    def _loop(
        self, at: tuple[int, ...], sizes: list[int], spad_ids: tuple[int, int]
    ) -> list[Words]:
        b, prow, pcol, och, krow, kcol, kch = at
        batches, prows, pcols, ochs, krows, kcols, kchs = sizes
        upper, lower, irow, (pool_upper, pool_lower), orows = self._edges(
            prow, prows, krow, krows, 0
        )
        left, right, icol, (pool_left, pool_right), ocols = self._edges(pcol, pcols, kcol, kcols, 1)
        rows, cols = self.in_shape
        in_stride, weight_stride, out_stride = self.element_strides
        input_address, weights, bias, output = self.addresses
        if self.input_3120:
            input_address += ((kch * rows + irow) * cols + icol) * self.batch + b
        else:
            input_address += ((b * rows + irow) * cols + icol) * in_stride + kch
        wrow = self.kernel - krow - krows if self.rotate_180 else krow
        wcol = self.kernel - kcol - kcols if self.rotate_180 else kcol
        tap = wrow * self.kernel + wcol
        if self.weight_1203:
            weights += (kch * self.kernel**2 + tap) * self.out_channels + och
        elif self.weight_0132:
            weights += (tap * self.out_channels + och) * self.in_channels + kch
        else:
            weights += (tap * self.in_channels + kch) * weight_stride + och
        bias = bias + 4 * och if krow == kcol == kch == 0 else 0
        if (
            krow + krows < self.kernel
            or kcol + kcols < self.kernel
            or kch + kchs < self.in_channels
        ):
            output = 0
        elif self.output_1203:
            pixel = (prow * self.pooled_shape[1] + pcol) * self.batch + b
            output += pixel * self.out_channels + och
        else:
            pixel = (b * self.pooled_shape[0] + prow) * self.pooled_shape[1] + pcol
            output += pixel * out_stride + och
        size, pool_stride, pool_padding = self.pooling
        out_rows, out_cols = self.out_shape
        pooled_rows, pooled_cols = self.pooled_shape
        a_id, b_id = spad_ids
        return [
            (16, pack_fields((self.batch, 0), (rows, 16), (self.in_channels, 32),
                             (self.out_channels, 48)),
             pack_fields((out_rows, 0), (pooled_rows, 16), (out_cols, 32), (self.stride, 48),
                         (self.padding, 56))),
            (17, pack_fields((pool_padding, 0), (pool_stride, 8), (size, 16), (pooled_cols, 32),
                             (self.kernel, 48)),
             pack_fields((ochs, 0), (pcols, 16), (prows, 32), (batches, 48))),
            (18, pack_fields((left, 0), (kchs, 16), (kcols, 32), (krows, 48)),
             pack_fields((cols, 0), (pool_left, 16), (lower, 24), (upper, 32), (right, 48))),
            (19, pack_fields((self.kernel_dilation, 0), (pool_lower, 10), (pool_upper, 21),
                             (pool_right, 32), (orows, 48)),
             pack_fields((ocols, 0), (out_stride, 16), (weight_stride, 32), (in_stride, 48))),
            (20, weights, output),
            (21, bias, input_address),
            (LOOP_CONV_WS,
             pack_fields((not self.has_bias, 0), (self.rotate_180, 1), (self.output_1203, 2),
                         (self.weight_1203, 3), (self.weight_0132, 4), (self.input_3120, 5),
                         (min(self.pixels_per_row, kcols), 8), (b_id, 16), (a_id, 18)),
             pack_fields((self.pool is None, 0), (self.downsample, 1),
                         (self.input_dilation == 2, 2), (self.relu, 3))),
        ]  # fmt: skip


def _starts(wholes: tuple[int, ...], steps: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """First elements of all tiles, the last axis fastest."""
    if not wholes:
        yield ()
        return
    for start in range(0, wholes[0], steps[0]):
        for rest in _starts(wholes[1:], steps[1:]):
            yield (start, *rest)
