"""Options of operators: strides, axes and the like, by the names of TFLite's schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_WINDOW = ("Padding", "StrideH", "StrideW")
_DILATION = ("DilationHFactor", "DilationWFactor")
_FUSED = ("FusedActivationFunction",)
_POOL = (*_WINDOW, "FilterHeight", "FilterWidth", *_FUSED)
_RESIZE = ("AlignCorners", "HalfPixelCenters")

# By kind of operator: the table, and its entries that are read. Vectors end in "AsNumpy".
_TABLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ADD": ("AddOptions", _FUSED),
    "AVERAGE_POOL_2D": ("Pool2DOptions", _POOL),
    "BATCH_MATMUL": ("BatchMatMulOptions", ("AdjX", "AdjY")),
    "CONCATENATION": ("ConcatenationOptions", ("Axis", *_FUSED)),
    "CONV_2D": ("Conv2DOptions", (*_WINDOW, *_DILATION, *_FUSED)),
    "DEPTHWISE_CONV_2D": (
        "DepthwiseConv2DOptions",
        (*_WINDOW, *_DILATION, "DepthMultiplier", *_FUSED),
    ),
    "DEPTH_TO_SPACE": ("DepthToSpaceOptions", ("BlockSize",)),
    "DIV": ("DivOptions", _FUSED),
    "FULLY_CONNECTED": ("FullyConnectedOptions", ("WeightsFormat", "KeepNumDims", *_FUSED)),
    "GATHER": ("GatherOptions", ("Axis", "BatchDims")),
    "GELU": ("GeluOptions", ("Approximate",)),
    "LEAKY_RELU": ("LeakyReluOptions", ("Alpha",)),
    "MAX_POOL_2D": ("Pool2DOptions", _POOL),
    "MEAN": ("ReducerOptions", ("KeepDims",)),
    "MIRROR_PAD": ("MirrorPadOptions", ("Mode",)),
    "MUL": ("MulOptions", _FUSED),
    "PACK": ("PackOptions", ("ValuesCount", "Axis")),
    "REDUCE_MAX": ("ReducerOptions", ("KeepDims",)),
    "REDUCE_MIN": ("ReducerOptions", ("KeepDims",)),
    "REDUCE_PROD": ("ReducerOptions", ("KeepDims",)),
    "RESHAPE": ("ReshapeOptions", ("NewShapeAsNumpy",)),
    "RESIZE_BILINEAR": ("ResizeBilinearOptions", _RESIZE),
    "RESIZE_NEAREST_NEIGHBOR": ("ResizeNearestNeighborOptions", _RESIZE),
    "SOFTMAX": ("SoftmaxOptions", ("Beta",)),
    "SPACE_TO_DEPTH": ("SpaceToDepthOptions", ("BlockSize",)),
    "SPLIT": ("SplitOptions", ("NumSplits",)),
    "SPLIT_V": ("SplitVOptions", ("NumSplits",)),
    "SQUEEZE": ("SqueezeOptions", ("SqueezeDimsAsNumpy",)),
    "STRIDED_SLICE": (
        "StridedSliceOptions",
        ("BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "ShrinkAxisMask", "Offset"),
    ),
    "SUB": ("SubOptions", _FUSED),
    "SUM": ("ReducerOptions", ("KeepDims",)),
    "TRANSPOSE_CONV": ("TransposeConvOptions", (*_WINDOW, *_FUSED)),
    "UNPACK": ("UnpackOptions", ("Num", "Axis")),
}


class NotOfTheOperator(ValueError):
    """Options of another operator."""


def read_options(
    kind: str, operator: Any, read: Callable[..., Any], numbers: Callable[[Any], list[Any]]
) -> Mapping[str, Any]:
    """The options of an operator's table, in snake case; empty for one that has none in the file.

    read : calls a method of a table. numbers : makes a list of a vector.

    Raises
    ------
    NotOfTheOperator
        where the options are those of another operator.
    """
    import tflite

    if kind not in _TABLES:
        return {}
    table_kind = read(operator.BuiltinOptionsType)
    if table_kind == tflite.BuiltinOptions.NONE:
        return {}
    table_name, entries = _TABLES[kind]
    if table_kind != getattr(tflite.BuiltinOptions, table_name):
        raise NotOfTheOperator(f"its options are no {table_name}")
    union = read(operator.BuiltinOptions)
    if union is None:
        return {}
    table = getattr(tflite, table_name)()
    read(table.Init, union.Bytes, union.Pos)  # a position may be behind the end of all numbers
    options = {}
    for entry in entries:
        value = read(getattr(table, entry))
        name = entry.removesuffix("AsNumpy")
        options[_snake(name)] = numbers(value) if name != entry else value
    return options


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
