"""A ResNet in int8, in plain NumPy: written from the network's description and the
device's numbers, without the package that is under test.

It takes the quantized numbers as a dict: `numbers[layer][name]`, where a convolution or the dense
layer has `weight` (int8, HWIO or inputs x outputs), `bias` (int32) and `scale` (float32), an
addition `multiplier_a`, `multiplier_b` (int32) and `scale`, the average pool `scale`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Numbers = Mapping[str, Mapping[str, np.ndarray]]


def to_int8(values: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """float32(values) * scale in float32, half to even, saturated."""
    assert scale.dtype == np.float32
    product = values.astype(np.float32) * scale
    assert product.dtype == np.float32
    return np.clip(np.rint(product), -128, 127).astype(np.int8)


def as_accumulator(exact: np.ndarray) -> np.ndarray:
    """Integers held exactly in float64 as an int32 accumulator holds them: modulo 2**32."""
    return (exact.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, np.int8(0))


def patches(x: np.ndarray, kernel: int, stride: int, pad: int, fill: int) -> np.ndarray:
    """(batch, rows, columns, kernel * kernel, channels) of an NHWC image."""
    around = ((0, 0), (pad, pad), (pad, pad), (0, 0))
    padded = np.pad(x, around, constant_values=fill)
    rows = (padded.shape[1] - kernel) // stride + 1
    cols = (padded.shape[2] - kernel) // stride + 1
    views = [
        padded[:, i : i + stride * rows : stride, j : j + stride * cols : stride]
        for i in range(kernel)
        for j in range(kernel)
    ]
    return np.stack([view[:, :rows, :cols] for view in views], axis=3)


def conv(x: np.ndarray, layer: Mapping[str, np.ndarray], stride: int, pad: int) -> np.ndarray:
    kernel, _, inputs, outputs = layer["weight"].shape
    columns = patches(x, kernel, stride, pad, 0)
    left = columns.reshape(-1, kernel * kernel * inputs).astype(np.float64)
    right = layer["weight"].reshape(-1, outputs).astype(np.float64)
    # Products of int8 sum to far less than 2**53: exact in any order.
    total = as_accumulator(left @ right + layer["bias"])
    return to_int8(total, layer["scale"]).reshape(*columns.shape[:3], outputs)


def add(a: np.ndarray, b: np.ndarray, layer: Mapping[str, np.ndarray]) -> np.ndarray:
    left = a.astype(np.int32) * layer["multiplier_a"]
    right = b.astype(np.int32) * layer["multiplier_b"]
    return to_int8(left + right, layer["scale"])


def run(
    image: np.ndarray, numbers: Numbers, blocks_per_stage: tuple[int, ...] = (2, 2, 2, 2)
) -> dict[str, np.ndarray]:
    """Every layer's int8 output by its name, and `logits` in float32."""
    out: dict[str, np.ndarray] = {}
    out["image"] = to_int8(image, numbers["quantize_image"]["scale"])
    out["conv1"] = relu(conv(out["image"], numbers["conv1"], stride=2, pad=3))
    x = out["maxpool"] = patches(out["conv1"], 3, 2, 1, fill=-128).max(axis=3)
    for stage, count in enumerate(blocks_per_stage):
        for block in range(count):
            name = f"layer{stage + 1}_{block}"
            stride = 2 if stage > 0 and block == 0 else 1
            shortcut = x
            if f"{name}_downsample_0" in numbers:
                shortcut = conv(x, numbers[f"{name}_downsample_0"], stride, pad=0)
                out[f"{name}_downsample_0"] = shortcut
            if f"{name}_conv3" in numbers:  # a bottleneck
                y = out[f"{name}_conv1"] = relu(conv(x, numbers[f"{name}_conv1"], 1, pad=0))
                y = out[f"{name}_conv2"] = relu(conv(y, numbers[f"{name}_conv2"], stride, pad=1))
                y = out[f"{name}_conv3"] = conv(y, numbers[f"{name}_conv3"], 1, pad=0)
            else:
                y = out[f"{name}_conv1"] = relu(conv(x, numbers[f"{name}_conv1"], stride, pad=1))
                y = out[f"{name}_conv2"] = conv(y, numbers[f"{name}_conv2"], stride=1, pad=1)
            x = out[f"{name}_add"] = relu(add(y, shortcut, numbers[f"{name}_add"]))
    return out | classify(x, numbers, "fc")


def classify(x: np.ndarray, numbers: Numbers, layer: str) -> dict[str, np.ndarray]:
    """The global average of an image's channels and a dense layer: the end of the networks."""
    out = {}
    total = x.astype(np.int32).sum(axis=(1, 2), dtype=np.int32)
    pooled = out["avgpool"] = to_int8(total, numbers["avgpool"]["scale"])
    dense = numbers[layer]
    exact = pooled.astype(np.float64) @ dense["weight"].astype(np.float64) + dense["bias"]
    out[layer] = to_int8(as_accumulator(exact), dense["scale"])
    out["logits"] = out[layer].astype(np.float32) * numbers[f"dequantize_{layer}"]["scale"]
    return out
