"""Convolutions as the vendor's C library issues them: LOOP_CONV_WS with the library's tiles.

After `tiled_conv_auto` and `tiled_conv_dw_auto` of the public `gemmini.h`, written anew: the
choice of tiles is in `conv_tile.py`, here are the commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from ....device.route import Route
from ....program import Command, Operand, device_command
from ....topi import Conv2d, DepthwiseConv2d, Operator
from ....topi.window import Window
from ..config import GemminiConfig
from ..isa import (
    ConfigEx,
    ConfigSt,
    LoopConvWs,
    LoopConvWsAddressesBI,
    LoopConvWsAddressesWO,
    LoopConvWsBounds,
    LoopConvWsDims,
    LoopConvWsKernel,
    LoopConvWsPool,
)
from .conv_tile import ConvCall, Tile, TileSearch
from .matmul import product_of

_NULL = Operand()


def conv_commands(call: ConvCall, config: GemminiConfig) -> Iterator[Command]:
    """The commands of one call, each channel of a depthwise one by itself."""
    yield device_command(
        ConfigSt,
        stride_bytes=call.out_channels,
        activation=int(call.relu),
        scale=call.scale,
    )
    yield device_command(ConfigEx, a_stride=call.stride >> call.downsample)
    wholes, tile = call.wholes, TileSearch(call, config).tile
    channels = range(call.out_channels) if call.depthwise else range(1)
    starts = [range(0, whole, step) for whole, step in zip(wholes, tile, strict=True)]
    # Batches, rows and columns outermost, then output channels, then the sum's parts.
    for at in product(*starts[:3]):
        for channel in channels:
            for rest in product(*starts[3:]):
                yield from _loop(call, Tile(*at, *rest), tile, channel, config)


class _Edge:
    """What a tile covers along an axis: outputs, paddings, the first input element."""

    def __init__(
        self, call: ConvCall, axis: int, first: int, count: int, tap: int, taps: int
    ) -> None:
        size, out_size = call.in_shape[axis], call.out_shape[axis]
        out = first * call.pool_stride - call.pool_padding
        outs = count * call.pool_stride + call.pool_size - 1
        self.pool_before = max(0, -out)
        self.pool_after = max(0, out + outs - out_size)
        self.outs = outs - self.pool_before - self.pool_after
        begin = max(0, out) * call.stride + tap - call.padding
        ins = self.outs * call.stride + taps - 1
        self.before = max(0, -begin)
        self.after = max(0, begin + ins - size)
        self.first_input = begin + self.before


def _loop(
    call: ConvCall, at: Tile, tile: Tile, channel: int, config: GemminiConfig
) -> Iterator[Command]:
    wholes = call.wholes
    sizes = Tile(*(min(t, w - a) for t, w, a in zip(tile, wholes, at, strict=True)))
    rows = _Edge(call, 0, at.pool_rows, sizes.pool_rows, at.kernel_rows, sizes.kernel_rows)
    cols = _Edge(call, 1, at.pool_cols, sizes.pool_cols, at.kernel_cols, sizes.kernel_cols)
    image, weights, bias, output = _addresses(call, at, sizes, channel, rows, cols)
    first_image, first_sum = not any(at[:3]), not any(at[4:])
    # One or two tiles of weights, or of inputs, are loaded once and kept, a tile in each half.
    counts = [-(-w // t) for w, t in zip(wholes, tile, strict=True)]
    sums = prod(counts[4:])
    keeps_weights = not call.depthwise and sums * counts[3] <= 2
    keeps_input = not call.depthwise and sums * prod(counts[:3]) <= 2
    if keeps_weights and not first_image:
        weights = _NULL
    if keeps_input and at.out_channels:
        image = _NULL
    pixels = 1
    if config.has_first_layer_pixel_repeats and not call.downsample:
        pixels = min(max(1, config.dim // sizes.in_channels), sizes.kernel_cols)
    yield device_command(
        LoopConvWsDims,
        batch_size=call.batch,
        in_rows=call.in_shape[0],
        in_channels=call.in_channels,
        out_channels=call.out_channels,
        out_rows=call.out_shape[0],
        pool_out_rows=wholes.pool_rows,
        out_cols=call.out_shape[1],
        stride=call.stride,
        padding=call.padding,
    )
    yield device_command(
        LoopConvWsPool,
        pool_padding=call.pool_padding,
        pool_stride=call.pool_stride,
        pool_size=call.pool_size,
        pool_out_cols=wholes.pool_cols,
        kernel_dim=call.kernel,
        tile_channels=sizes.out_channels,
        tile_pool_cols=sizes.pool_cols,
        tile_pool_rows=sizes.pool_rows,
        tile_batches=sizes.batches,
    )
    yield device_command(
        LoopConvWsKernel,
        left_pad=cols.before,
        kernel_channels=sizes.in_channels,
        kernel_cols=sizes.kernel_cols,
        kernel_rows=sizes.kernel_rows,
        in_cols=call.in_shape[1],
        pool_left_pad=cols.pool_before,
        down_pad=rows.after,
        upper_pad=rows.before,
        right_pad=cols.after,
    )
    yield device_command(
        LoopConvWsBounds,
        kernel_dilation=1,
        pool_down_pad=rows.pool_after,
        pool_upper_pad=rows.pool_before,
        pool_right_pad=cols.pool_after,
        tile_rows=rows.outs,
        tile_cols=cols.outs,
        out_stride=call.out_channels,
        weight_stride=1 if call.depthwise else call.out_channels,
        in_stride=call.in_channels,
    )
    yield device_command(
        LoopConvWsAddressesWO,
        weights_address=weights,
        output_address=output,
    )
    yield device_command(
        LoopConvWsAddressesBI,
        bias_address=bias,
        input_address=image,
    )
    yield device_command(
        LoopConvWs,
        no_bias=call.bias is None,
        depthwise=call.depthwise,
        max_pixels_per_row=pixels,
        a_spad_id=(1 if first_image and first_sum else 2) if keeps_input else 0,
        b_spad_id=(1 if at.out_channels == 0 and first_sum else 2) if keeps_weights else 0,
        no_pool=not call.has_pool,
        downsample=call.downsample,
        activation=int(call.relu),
    )


def _addresses(
    call: ConvCall, at: Tile, sizes: Tile, channel: int, rows: _Edge, cols: _Edge
) -> tuple[Operand, Operand, Operand, Operand]:
    """Of a tile's image, weights, bias (none but where its sum starts), output (none but where
    it ends)."""
    wholes = call.wholes
    pixel = (at.batches * call.in_shape[0] + rows.first_input) * call.in_shape[1]
    pixel += cols.first_input
    tap = at.kernel_rows * call.kernel + at.kernel_cols
    out_channel = channel + at.out_channels
    if call.depthwise:
        in_channel, weight = channel, channel * call.kernel**2 + tap
    else:
        in_channel = at.in_channels
        weight = (tap * call.in_channels + in_channel) * call.out_channels + out_channel
    bias = output = _NULL
    if not any(at[4:]):
        # Without a bias the library has address 1 in place of one.
        where = Operand(1) if call.bias is None else Operand.argument(call.bias)
        bias = where + 4 * out_channel
    if all(a + s == w for a, s, w in zip(at[4:], sizes[4:], wholes[4:], strict=True)):
        out_pixel = (at.batches * wholes.pool_rows + at.pool_rows) * wholes.pool_cols
        out_pixel += at.pool_cols
        output = Operand.argument(call.out, out_pixel * call.out_channels + out_channel)
    image = Operand.argument(0, pixel * call.in_channels + in_channel)
    return image, Operand.argument(1, weight), bias, output


class LoopConvRoute(Route):
    """Convolutions that are no products, one LOOP_CONV_WS for each tile."""

    name = "loop_conv_ws"

    config: GemminiConfig

    def refusal(self, operator: Operator) -> str | None:
        if not self.config.has_loop_commands:
            return f"{self.config.name} is built without loop commands"
        if isinstance(operator, DepthwiseConv2d):
            return (
                f"{operator.name}: LOOP_CONV_WS takes the weights of a channel together, here they "
                "are diagonals of blocks of channels"
            )
        if not isinstance(operator, Conv2d):
            return f"LOOP_CONV_WS computes convolutions, {operator.name} is none"
        if product_of(operator) is not None:
            return f"{operator.name} is a product, which LOOP_WS computes"
        if isinstance(operator.scale, tuple):
            return (
                f"{operator.name}: LOOP_CONV_WS has one scale, not one for each block of channels"
            )
        if operator.sums:
            return f"{operator.name}: LOOP_CONV_WS requantizes what it stores"
        if operator.window.fill:
            return f"{operator.name}: LOOP_CONV_WS pads with 0"
        return window_refusal(operator.name, operator.window)

    def nodes(self, operator: Operator) -> Iterable[Command]:
        assert isinstance(operator, Conv2d)
        return conv_commands(conv_call(operator), self.config)


def window_refusal(name: str, window: Window) -> str | None:
    """Why LOOP_CONV_WS has no form for a window: it has to be the same along both axes, and from
    all sides. None where it is."""
    if window.kh != window.kw or len(set(window.strides)) > 1 or len(set(window.pad)) > 1:
        return (
            f"{name}: LOOP_CONV_WS needs one kernel size, one stride and one padding, has "
            f"{window.kh}x{window.kw}, {window.strides}, {window.pad}"
        )
    if window.pad[0] >= window.kh:
        return (
            f"{name}: LOOP_CONV_WS needs a padding below the kernel's {window.kh}, has "
            f"{window.pad[0]}"
        )
    return None


def conv_call(operator: Conv2d | DepthwiseConv2d) -> ConvCall:
    """The library's call for a convolution, without a pool."""
    if isinstance(operator, DepthwiseConv2d):
        channels = operator.c, operator.c
    else:
        channels = operator.ci, operator.co
    return ConvCall(
        batch=operator.n,
        in_shape=(operator.h, operator.w),
        in_channels=channels[0],
        out_channels=channels[1],
        kernel=operator.kh,
        stride=operator.strides[0],
        padding=operator.pad[0],
        bias=2 if operator.bias else None,
        out=3 if operator.bias else 2,
        scale=operator.output.one_scale,
        relu=operator.relu,
        depthwise=isinstance(operator, DepthwiseConv2d),
    )
