"""How operators of TFLite are written in Relax: one file for each family."""

from . import (
    activation,
    arithmetic,
    batch,
    convolution,
    dense,
    join,
    pad,
    pool,
    reduce,
    repeat,
    rescale,
    reshape,
    resize,
    slices,
    softmax,
    transpose_convolution,
)

__all__ = [
    "activation",
    "arithmetic",
    "batch",
    "convolution",
    "dense",
    "join",
    "pad",
    "pool",
    "reduce",
    "repeat",
    "rescale",
    "reshape",
    "resize",
    "slices",
    "softmax",
    "transpose_convolution",
]
