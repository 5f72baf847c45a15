"""The measured streams of loop commands compute what their names say.

The streams are not part of the repository. They are looked for in the folder that
NPU_REFERENCE_DIR names, else in shared/reference beside the checkout.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_api.streams import Words, pack
from reference import loops as reference
from reference.device import as_float32, bits

from npu_target.device_api import run_stream
from npu_target.devices.gemmini import GemminiConfig

RAM = 0x80000000
_FOLDER = Path(__file__).absolute().parents[2].parent / "shared" / "reference"
TRACES = Path(os.environ.get("NPU_REFERENCE_DIR", _FOLDER)) / "traces.jsonl"
DIM = 16


def traces() -> list[Any]:
    if not TRACES.is_file():
        reason = f"no {TRACES.name} in {TRACES.parent}; NPU_REFERENCE_DIR may name its folder"
        return [pytest.param({}, marks=pytest.mark.skip(reason=reason), id="no-traces")]
    lines = [json.loads(line) for line in TRACES.read_text().splitlines()]
    chosen = [trace for trace in lines if trace["group"] in ("loop_ws", "matmul", "conv")]
    assert chosen
    return [pytest.param(trace, id=trace["name"]) for trace in chosen]


def words_of(trace: dict[str, Any]) -> list[Words]:
    words = [tuple(command) for command in trace["setup"]]
    words += [tuple(command[1:]) for command in trace["commands"]]
    return [(funct, int(rs1, 16), int(rs2, 16)) for funct, rs1, rs2 in words]


def numbers_in(name: str) -> dict[str, int]:
    """The numbers of a name such as `in14 ic32 k3`, by their letters."""
    return {key: int(value) for key, value in re.findall(r"([A-Za-z]+)(\d+)", name)}


class Device:
    """RAM full of noise, before and after a stream."""

    def __init__(self, words: list[Words]) -> None:
        self.words = words
        addresses = [a for f, *pair in words if f in (10, 11, 20, 21) for a in pair if a > 1]
        random = np.random.default_rng(0)
        size = max(addresses) - RAM + (1 << 21)
        self.before = random.integers(0, 256, size, dtype=np.uint8)
        result = run_stream(GemminiConfig(), pack(words), RAM, self.before.tobytes())
        self.after = np.frombuffer(result.memory, np.uint8)

    def least(self, funct: int, position: int) -> int:
        """The least address, other than 0, that one operand of a command takes."""
        return min((w[position] for w in self.words if w[0] == funct and w[position]), default=0)

    def last(self, funct: int, position: int) -> int:
        return [w[position] for w in self.words if w[0] == funct][-1]

    def read(self, memory: np.ndarray, address: int, rows: int, row_bytes: int, stride: int):
        starts = address - RAM + stride * np.arange(rows)
        return memory[starts[:, None] + np.arange(row_bytes)]

    @property
    def store(self) -> tuple[float, bool]:
        rs1, rs2 = next((w[1], w[2]) for w in self.words[::-1] if w[0] == 0 and w[1] & 3 == 2)
        return float(as_float32(bits(rs2, 63, 32))), bits(rs1, 3, 2) == 1


def check_matmul(device: Device, m: int, n: int, k: int, has_bias: bool, a_t: bool, b_t: bool):
    a_stride, b_stride = device.last(12, 1), device.last(12, 2)
    a_shape, b_shape = (k, m) if a_t else (m, k), (n, k) if b_t else (k, n)
    a = device.read(device.before, device.least(10, 1), *a_shape, a_stride).view(np.int8)
    b = device.read(device.before, device.least(10, 2), *b_shape, b_stride).view(np.int8)
    d = None
    if has_bias:
        raw = device.read(device.before, device.least(11, 1), m, 4 * n, 4 * device.last(13, 1))
        d = np.ascontiguousarray(raw).view(np.int32)
    scale, relu = device.store
    expected = reference.matmul(a.T if a_t else a, b.T if b_t else b, d, scale, relu)
    c_address, c_stride = device.least(11, 2), device.last(13, 2)
    c = device.read(device.after, c_address, m, n, c_stride).view(np.int8)
    np.testing.assert_array_equal(c, expected)
    touched = (c_address - RAM + c_stride * np.arange(m)[:, None] + np.arange(n)).ravel()
    np.testing.assert_array_equal(
        np.delete(device.after, touched), np.delete(device.before, touched)
    )


def check_conv(device: Device, sizes: dict[str, int]) -> None:
    size, channels, outs, kernel = (sizes[key] for key in ("in", "ic", "oc", "k"))
    stride, padding = sizes["s"], sizes["p"]
    x = device.read(device.before, device.least(21, 2), 1, size * size * channels, 0).view(np.int8)
    weights = device.read(device.before, device.least(20, 1), 1, kernel**2 * channels * outs, 0)
    has_bias = bits(device.last(15, 1), 0, 0) == 0
    bias = device.read(device.before, device.least(21, 1), 1, 4 * outs, 0).view(np.int32)[0]
    total = reference.conv(
        x.reshape(1, size, size, channels),
        weights.view(np.int8).reshape(kernel, kernel, channels, outs),
        bias if has_bias else None,
        stride,
        padding,
    )
    scale, relu = device.store
    expected = reference.to_int8(total, scale, relu).ravel()
    start = device.least(20, 2) - RAM
    y = device.after[start : start + expected.size]
    np.testing.assert_array_equal(y.view(np.int8), expected)
    np.testing.assert_array_equal(device.after[:start], device.before[:start])
    end = start + expected.size
    np.testing.assert_array_equal(device.after[end:], device.before[end:])


@pytest.mark.parametrize("trace", traces())
def test_values(trace: dict[str, Any]) -> None:
    sizes = numbers_in(trace["name"])
    device = Device(words_of(trace))
    if trace["group"] == "conv":
        check_conv(device, sizes)
    elif trace["group"] == "matmul":
        m, n, k = (sizes[key] for key in "IJK")
        check_matmul(device, m, n, k, bool(sizes["bias"]), bool(sizes["At"]), bool(sizes["Bt"]))
    elif sizes["storeC"]:
        m, n, k = (DIM * sizes[key] for key in "IJK")
        check_matmul(device, m, n, k, bool(sizes["bias"]), False, False)
    else:
        np.testing.assert_array_equal(device.after, device.before)
