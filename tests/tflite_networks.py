"""Small ``.tflite`` networks: one of most families of operators, and operators alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from tflite_models import Op, T, model, one_operator


def i32(*values: int) -> T:
    return T.of(np.array(values, np.int32))


def small_network() -> bytes:
    """A few operators of most families, on an image of 6x6 pixels."""
    random = np.random.default_rng(0)
    image = {"scale": 0.1, "zero_point": 3}

    def weight(*shape: int, **more: Any) -> T:
        return T.of(random.integers(-127, 128, shape, np.int8), **{"scale": 0.01} | more)

    tensors = [
        T((1, 6, 6, 4), name="image", **image),
        weight(4, 3, 3, 4, scale=[0.01] * 4),
        T.of(random.integers(-99, 99, 4, np.int32), scale=[0.001] * 4),
        T((1, 6, 6, 4), **image),
        weight(1, 3, 3, 4, scale=[0.01] * 4, axis=3),
        T((1, 3, 3, 4), **image),
        T((1, 3, 3, 4), **image),
        T((1, 3, 3, 4), **image),
        i32(6, 6),
        T((1, 6, 6, 4), **image),
        T((1, 6, 6, 8), **image),
        T.of(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32)),
        T((1, 8, 8, 8), **image),
        i32(1, 2),
        T((1, 8), scale=0.05),
        weight(5, 8),
        T((1, 5), **image),
        T((1, 5), scale=1 / 256, zero_point=-128),
        i32(1, 5, 1),
        T((1, 5, 1), scale=1 / 256, zero_point=-128),
    ]
    window = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
    halved = {**window, "StrideH": 2, "StrideW": 2, "DepthMultiplier": 1}
    pool = {"StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2}
    ops = [
        Op("CONV_2D", [0, 1, 2], [3], "Conv2DOptions", window),
        Op("DEPTHWISE_CONV_2D", [3, 4, 2], [5], "DepthwiseConv2DOptions", halved),
        Op("MAX_POOL_2D", [3], [6], "Pool2DOptions", pool),
        Op("ADD", [5, 6], [7], "AddOptions", {"FusedActivationFunction": 1}),
        Op("RESIZE_NEAREST_NEIGHBOR", [7, 8], [9], "ResizeNearestNeighborOptions"),
        Op("CONCATENATION", [9, 3], [10], "ConcatenationOptions", {"Axis": 3}),
        Op("PAD", [10, 11], [12], "PadOptions"),
        Op("MEAN", [12, 13], [14], "ReducerOptions", {"KeepDims": False}),
        Op("FULLY_CONNECTED", [14, 15, -1], [16], "FullyConnectedOptions"),
        Op("SOFTMAX", [16], [17], "SoftmaxOptions", {"Beta": 1.0}),
        Op("RESHAPE", [17, 18], [19], "ReshapeOptions"),
    ]
    return model(tensors, ops, [0], [19])


def single_operators() -> list[bytes]:
    """Networks of one operator, of int8, uint8 and floats."""
    random = np.random.default_rng(0)
    made = []
    for dtype in ("int8", "uint8"):
        numbers = {"dtype": dtype, "scale": 0.1, "zero_point": 3}
        image, row = T((1, 5, 6, 4), **numbers), T((2, 12), **numbers)
        if dtype == "int8":
            least, most, plain = -127, 128, {"scale": [0.01, 0.02, 0.01, 0.005]}
        else:
            least, most, plain = 0, 256, {"scale": 0.01, "zero_point": 120}
        kernel, thin, matrix = (
            T.of(random.integers(least, most, shape).astype(dtype), **plain, axis=axis)
            for shape, axis in (((4, 3, 3, 4), 0), ((1, 3, 3, 4), 3), ((4, 12), 0))
        )
        bias = T.of(random.integers(-99, 99, 4, np.int32), scale=0.1 * np.array(plain["scale"]))
        window = {"StrideH": 1, "StrideW": 2, "DilationHFactor": 1, "DilationWFactor": 1}
        pool = {"StrideH": 2, "StrideW": 2, "FilterHeight": 3, "FilterWidth": 2}
        wide = {"dtype": dtype, "scale": 0.4, "zero_point": 100}
        half, whole = T((1, 5, 3, 4), **wide), T((1, 5, 6, 4), **wide)
        small, product = T((1, 3, 3, 4), **numbers), T((2, 4), **wide)
        share = T((2, 12), dtype, 1 / 256, -128 if dtype == "int8" else 0)
        made += [
            one_operator("CONV_2D", [image, kernel, bias], [half], "Conv2DOptions", **window),
            one_operator(
                "DEPTHWISE_CONV_2D",
                [image, thin, bias],
                [half],
                "DepthwiseConv2DOptions",
                **window,
                DepthMultiplier=1,
            ),
            one_operator(
                "FULLY_CONNECTED", [row, matrix, bias], [product], "FullyConnectedOptions"
            ),
            one_operator("ADD", [image, image], [whole], "AddOptions", FusedActivationFunction=1),
            one_operator("MUL", [image, image], [whole], "MulOptions"),
            one_operator("AVERAGE_POOL_2D", [image], [small], "Pool2DOptions", **pool),
            one_operator("MAX_POOL_2D", [image], [small], "Pool2DOptions", **pool),
            one_operator("SOFTMAX", [row], [share], "SoftmaxOptions", Beta=1.0),
            one_operator("HARD_SWISH", [row], [T((2, 12), **wide)], "HardSwishOptions"),
        ]
    tensor = T((1, 5, 6, 4), scale=0.1, zero_point=3)
    real, row = T((1, 5, 6, 4), "float32"), T((2, 12), "float32")
    matrix, bias = (T.of(random.normal(0, 1, shape).astype("float32")) for shape in ((5, 12), (5,)))
    made += [
        one_operator("MEAN", [tensor, i32(1, 2)], [T((1, 4), scale=0.05)], "ReducerOptions"),
        one_operator(
            "RESIZE_BILINEAR",
            [tensor, i32(9, 7)],
            [T((1, 9, 7, 4), scale=0.1, zero_point=3)],
            "ResizeBilinearOptions",
        ),
        one_operator(
            "CONCATENATION",
            [tensor, tensor],
            [T((1, 5, 12, 4), scale=0.1, zero_point=3)],
            "ConcatenationOptions",
            Axis=2,
        ),
        one_operator("ADD", [real, real], [real], "AddOptions"),
        one_operator(
            "FULLY_CONNECTED", [row, matrix, bias], [T((2, 5), "float32")], "FullyConnectedOptions"
        ),
    ]
    return made
