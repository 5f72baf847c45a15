"""MobileNetV2 in int8, in plain NumPy: written from the network's description and the device's
numbers, without the package that is under test. Numbers as in `integer_resnet`; depthwise weights
are (3, 3, 1, channels)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from reference.integer_resnet import (
    Numbers,
    add,
    as_accumulator,
    classify,
    conv,
    patches,
    relu,
    to_int8,
)


def depthwise(x: np.ndarray, layer: Mapping[str, np.ndarray], stride: int) -> np.ndarray:
    channels = x.shape[3]
    columns = patches(x, 3, stride, 1, 0).astype(np.int64)
    weight = layer["weight"].reshape(9, channels).astype(np.int64)
    total = as_accumulator((columns * weight).sum(axis=3) + layer["bias"])
    return to_int8(total, layer["scale"])


def run(
    image: np.ndarray, numbers: Numbers, stages: tuple[tuple[int, int, int, int], ...]
) -> dict[str, np.ndarray]:
    """Every layer's int8 output by its name, and `logits` in float32; ReLU6 is ReLU and
    saturation. `stages` as the paper's table: (expansion, channels, blocks, stride)."""
    out: dict[str, np.ndarray] = {}
    out["image"] = to_int8(image, numbers["quantize_image"]["scale"])
    x = out["features_0_0"] = relu(conv(out["image"], numbers["features_0_0"], 2, pad=1))
    number = 0
    for expansion, _, blocks, first_stride in stages:
        for block in range(blocks):
            number += 1
            stride = first_stride if block == 0 else 1
            y, at = x, f"features_{number}"
            inner = 0
            if expansion > 1:
                name = f"{at}_conv_0_0"
                y = out[name] = relu(conv(y, numbers[name], 1, pad=0))
                inner = 1
            name = f"{at}_conv_{inner}_0"
            y = out[name] = relu(depthwise(y, numbers[name], stride))
            name = f"{at}_conv_{inner + 1}"
            y = out[name] = conv(y, numbers[name], 1, pad=0)
            if block > 0 or (stride == 1 and x.shape == y.shape):
                y = out[f"{at}_add"] = add(y, x, numbers[f"{at}_add"])
            x = y
    name = f"features_{number + 1}_0"
    out[name] = relu(conv(x, numbers[name], 1, pad=0))
    return out | classify(out[name], numbers, "classifier_1")
