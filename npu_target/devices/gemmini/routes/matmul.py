"""Matrix products as the vendor's C library issues them: LOOP_WS with the library's tiles.

`gemmini.h` of the public gemmini-rocc-tests (`tiled_matmul_auto`) is where the choice of tiles,
the order of loops and the reuse of operands are described; this is that behaviour, written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import isqrt

from ....device.route import Route
from ....program import Command, Operand, device_command
from ....topi import Conv2d, Matmul, Operator
from ..config import GemminiConfig
from ..isa import (
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

_NULL = Operand()


@dataclass(frozen=True)
class MatmulCall:
    """C[m, n] = A[m, k] x B[k, n] + bias[n]; strides are elements between rows in DRAM."""

    m: int
    n: int
    k: int
    a: Operand
    b: Operand
    bias: Operand | None  # int32, the same for all rows
    c: Operand
    a_stride: int
    b_stride: int
    c_stride: int
    scale: float
    relu: bool


def matmul_tile(m: int, n: int, k: int, config: GemminiConfig) -> tuple[int, int, int]:
    """The library's tile of an [m, k] x [k, n] product, in blocks of the array: (i, j, k).

    A square of C that fills half of the accumulator and as much of K as then fits a quarter of
    the scratchpad, each then grown in turn, J first, while two tiles fit.
    """
    blocks = [-(-size // config.dim) for size in (m, n, k)]
    acc_blocks, spad_blocks = (
        rows // 2 // config.dim for rows in (config.acc_rows, config.spad_rows)
    )
    side = isqrt(acc_blocks)
    i, j, kk = (
        min(n, most) for n, most in zip(blocks, (side, side, spad_blocks // 2 // side), strict=True)
    )

    def fits(i: int, j: int, kk: int) -> bool:
        return (
            i * j <= acc_blocks
            and (i + j) * kk <= spad_blocks
            and i <= blocks[0]
            and j <= blocks[1]
            and kk <= blocks[2]
        )

    grows = True
    while grows:
        grows = False
        for di, dj, dk in ((0, 1, 0), (1, 0, 0), (0, 0, 1)):
            if fits(i + di, j + dj, kk + dk):
                i, j, kk, grows = i + di, j + dj, kk + dk, True
    return i, j, kk


def matmul_commands(call: MatmulCall, config: GemminiConfig) -> Iterator[Command]:
    """The commands of one call. Its tensors' sizes need not be multiples of anything."""
    yield device_command(ConfigEx, activation=int(call.relu))
    yield device_command(
        ConfigSt, stride_bytes=call.c_stride, activation=int(call.relu), scale=call.scale
    )
    for load, stride_bytes in enumerate((call.a_stride, call.b_stride, 0)):
        yield device_command(ConfigLd, id=load, stride_bytes=stride_bytes, block_stride=config.dim)
    tile = matmul_tile(call.m, call.n, call.k, config)
    sizes = (call.m, call.n, call.k)
    steps = [blocks * config.dim for blocks in tile]
    counts = [-(-size // step) for size, step in zip(sizes, steps, strict=True)]
    for at in product(*(range(count) for count in counts)):
        yield from _loop(call, at, counts, steps, config.dim)


def _loop(
    call: MatmulCall, at: tuple[int, ...], counts: list[int], steps: list[int], dim: int
) -> Iterator[Command]:
    (i, j, k), (i_count, j_count, k_count) = at, counts
    row, col, depth = (number * step for number, step in zip(at, steps, strict=True))
    extents = [
        min(step, size - start)
        for step, size, start in zip(
            steps, (call.m, call.n, call.k), (row, col, depth), strict=True
        )
    ]
    blocks = [-(-extent // dim) for extent in extents]
    pads = [count * dim - extent for count, extent in zip(blocks, extents, strict=True)]
    # An operand of one or two tiles is loaded once and kept, a tile in each half.
    keeps_a, keeps_b = i_count * k_count <= 2, j_count * k_count <= 2
    a = _NULL if keeps_a and j else call.a + (row * call.a_stride + depth)
    b = _NULL if keeps_b and i else call.b + (depth * call.b_stride + col)
    bias = call.bias + 4 * col if call.bias is not None and k == 0 else _NULL
    c = call.c + (row * call.c_stride + col) if k == k_count - 1 else _NULL
    yield device_command(
        LoopWsBounds,
        i_blocks=blocks[0],
        j_blocks=blocks[1],
        k_blocks=blocks[2],
        i_pad=pads[0],
        j_pad=pads[1],
        k_pad=pads[2],
    )
    yield device_command(LoopWsAddressesAB, a_address=a, b_address=b)
    yield device_command(LoopWsAddressesDC, d_address=bias, c_address=c)
    yield device_command(LoopWsStridesAB, a_stride=call.a_stride, b_stride=call.b_stride)
    yield device_command(LoopWsStridesDC, d_stride=0, c_stride=call.c_stride)
    yield device_command(
        LoopWs,
        ex_accumulate=call.bias is not None or k > 0,
        activation=int(call.relu),
        a_spad_id=(1 if i + k == 0 else 2) if keeps_a else 0,
        b_spad_id=(1 if j + k == 0 else 2) if keeps_b else 0,
    )


class LoopMatmulRoute(Route):
    """Products, those that 1x1 convolutions are included, one LOOP_WS for each tile."""

    name = "loop_ws"

    config: GemminiConfig

    def refusal(self, operator: Operator) -> str | None:
        if not self.config.has_loop_commands:
            return f"{self.config.name} is built without loop commands"
        found = product_of(operator)
        if found is None:
            return f"LOOP_WS computes products, {operator.name} is none"
        if isinstance(found.scale, tuple):
            return f"LOOP_WS has one scale, {operator.name} one for each block of channels"
        if found.sums:
            return f"the library's products are requantized, {operator.name} is not"
        return None

    def nodes(self, operator: Operator) -> Iterable[Command]:
        found = product_of(operator)
        assert found is not None
        for call in _calls(found):
            yield from matmul_commands(call, self.config)


def product_of(operator: Operator) -> Matmul | None:
    """The product that an operator is; None for one that is none."""
    if isinstance(operator, Matmul):
        return operator
    if not isinstance(operator, Conv2d):
        return None
    if (operator.kh, operator.kw, *operator.strides, *operator.pad) != (1, 1, 1, 1, 0, 0, 0, 0):
        return None
    pixels = operator.n * operator.h * operator.w
    return Matmul(
        1,
        pixels,
        operator.ci,
        operator.co,
        operator.bias,
        operator.relu,
        operator.scale,
        sums=operator.sums,
    )


def _calls(operator: Matmul) -> Iterator[MatmulCall]:
    """One after another for the products of a batch."""
    out = len(operator.args) - 1
    for batch in range(operator.batch):
        yield MatmulCall(
            operator.m,
            operator.n,
            operator.k,
            a=Operand.argument(0, batch * operator.m * operator.k),
            b=Operand.argument(1, batch * operator.k * operator.n),
            bias=Operand.argument(2) if operator.bias else None,
            c=Operand.argument(out, batch * operator.m * operator.n),
            a_stride=operator.k,
            b_stride=operator.n,
            c_stride=operator.n,
            scale=operator.output.one_scale,
            relu=operator.relu,
        )
