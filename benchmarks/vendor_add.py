"""Residual adds as the vendor's C library issues them: LOOP_WS in its form that adds.

After `tiled_resadd_auto` of the public `gemmini.h`, written anew. Each operand is scaled, rounded
and saturated as it is loaded, and the sum as it is stored: other numbers than those of an `Add`,
whose multipliers the library has no way to take.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.isa import (
    ConfigEx,
    ConfigLd,
    ConfigSt,
    LoopWs,
    LoopWsAddressesAB,
    LoopWsAddressesDC,
    LoopWsBounds,
    LoopWsStridesAB,
    LoopWsStridesDC,
)
from npu_target.program import Command, Operand, device_command
from npu_target.topi import Add

# One operand as it is and one scaled: how a network's operands of two scales would be added.
LOAD_SCALES = (1.0, 0.625)


def add_tile(rows: int, cols: int, config: GemminiConfig) -> tuple[int, int]:
    """The library's tile, in elements: rows halved, or columns cut by blocks where there are more
    of them than rows, until it fits half of the accumulator."""
    dim = config.dim
    while -(-rows // dim) * dim * -(-cols // dim) > config.acc_rows // 2:
        if rows >= cols or cols <= dim:
            rows //= 2
        else:
            cols -= dim
    return rows, cols


def add_commands(operator: Add, config: GemminiConfig) -> Iterator[Command]:
    """The commands for the arguments (a, b, out) of an addition of the same shape as an Add."""
    stride, relu = operator.cols, int(operator.relu)
    yield device_command(ConfigSt, stride_bytes=stride, activation=relu, scale=operator.scale)
    yield device_command(ConfigEx)
    for load, scale in enumerate(LOAD_SCALES):
        yield device_command(
            ConfigLd,
            id=load,
            stride_bytes=stride,
            scale=scale,
            shrunk=True,
            block_stride=config.dim,
        )
    tile_rows, tile_cols = add_tile(operator.rows, operator.cols, config)
    starts = product(range(0, operator.rows, tile_rows), range(0, operator.cols, tile_cols))
    for row, col in starts:
        rows, cols = min(tile_rows, operator.rows - row), min(tile_cols, operator.cols - col)
        a, b, out = (Operand.argument(index, row * stride + col) for index in range(3))
        yield device_command(
            LoopWsBounds,
            i_blocks=-(-rows // config.dim),
            j_blocks=-(-cols // config.dim),
            k_blocks=0,
            i_pad=-rows % config.dim,
            j_pad=-cols % config.dim,
        )
        yield device_command(LoopWsAddressesAB, a_address=a, b_address=b)
        yield device_command(LoopWsAddressesDC, d_address=0, c_address=out)
        yield device_command(LoopWsStridesAB, a_stride=stride, b_stride=stride)
        yield device_command(LoopWsStridesDC, d_stride=0, c_stride=stride)
        yield device_command(LoopWs, activation=relu, residual_add=True)
