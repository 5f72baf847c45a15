"""Global averages as the vendor's C library issues them: every pixel added by a load of its own.

After `tiled_global_average_auto` of the public `gemmini.h`, written anew.
"""

from __future__ import annotations

from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.isa import ConfigEx, ConfigLd, ConfigSt, LocalAddress, Mvin, Mvout
from npu_target.program import Loop, Node, Operand, const, device_command, var
from npu_target.topi import GlobalAvgPool

_PIXEL, _STORE = 0, 1


def average_nodes(operator: GlobalAvgPool, config: GemminiConfig) -> list[Node]:
    """The loops for the arguments (x, out); one accumulator row holds `dim` channels."""
    nodes: list[Node] = [
        device_command(ConfigLd, stride_bytes=config.dim, shrunk=True, block_stride=1),
        device_command(ConfigEx),
        device_command(ConfigSt, stride_bytes=0, scale=operator.scale),
    ]
    tile_channels = config.acc_rows * config.dim
    for batch in range(operator.n):
        for start in range(0, operator.c, tile_channels):
            channels = min(tile_channels, operator.c - start)
            nodes += _loads(operator, config, batch, start, channels)
            nodes += _stores(operator, config, batch, start, channels)
    return nodes


def _loads(
    operator: GlobalAvgPool, config: GemminiConfig, batch: int, start: int, channels: int
) -> list[Node]:
    pixels = operator.h * operator.w
    nodes: list[Node] = []
    for channel in range(0, channels, config.mvin_max_cols):
        cols = min(config.mvin_max_cols, channels - channel)
        row = channel // config.dim
        first = Operand.argument(0, batch * pixels * operator.c + start + channel)
        nodes.append(
            device_command(Mvin, dram_address=first, local=LocalAddress.acc(row), cols=cols, rows=1)
        )
        following = device_command(
            Mvin,
            dram_address=first + operator.c + var(_PIXEL) * operator.c,
            local=LocalAddress.acc(row, accumulate=True),
            cols=cols,
            rows=1,
        )
        nodes.append(Loop(_PIXEL, const(pixels - 1), (following,)))
    return nodes


def _stores(
    operator: GlobalAvgPool, config: GemminiConfig, batch: int, start: int, channels: int
) -> list[Node]:
    def store(block: Operand, cols: int) -> Node:
        return device_command(
            Mvout,
            dram_address=Operand.argument(1, batch * operator.c + start) + block * config.dim,
            local=(LocalAddress.acc(0), block),
            cols=cols,
            rows=1,
        )

    whole, rest = divmod(channels, config.dim)
    nodes: list[Node] = [Loop(_STORE, const(whole), (store(Operand.of(var(_STORE)), config.dim),))]
    if rest:
        nodes.append(store(Operand(whole), rest))
    return nodes
