"""The scale of a block of channels in TensorIR: which of several it is, by the block's number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from tvm import ir, tirx

# No function has this name: a store whose value asks for it becomes commands.
_CALL = "npu.block_scale"
_PURE_EXTERN = "tirx.call_pure_extern"


class BlockScale(NamedTuple):
    """The scale of block ``block`` (int32): ``scales[block]``, float32 numbers."""

    scales: tuple[float, ...]
    block: tirx.Expr

    def expression(self) -> tirx.Expr:
        """As float32 in TensorIR."""
        values = [tirx.FloatImm("float32", float(np.float32(scale))) for scale in self.scales]
        return tirx.call_pure_extern("float32", _CALL, self.block, *values)


def match_block_scale(expr: tirx.Expr) -> BlockScale | None:
    """What `BlockScale.expression` made, also after TVM simplified the block's number; None of any
    other expression."""
    if not isinstance(expr, ir.Call) or getattr(expr.op, "name", None) != _PURE_EXTERN:
        return None
    name, block, *values = expr.args
    if not isinstance(name, ir.StringImm) or name.value != _CALL:
        return None
    return BlockScale(tuple(float(value.value) for value in values), block)


def blocks_of(scales: Sequence[float], size: int) -> tuple[float, ...] | None:
    """The scale of each block of ``size`` channels, the last maybe of fewer; None where channels of
    one differ."""
    blocks = tuple(scales[::size])
    is_equal = all(scale == blocks[channel // size] for channel, scale in enumerate(scales))
    return blocks if is_equal else None
