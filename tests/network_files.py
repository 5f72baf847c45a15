"""A file of a network whose front end is made here."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numerics.networks import Builder, inputs_of

from npu_target.frontend import SUFFIXES, Imported, TensorInfo
from npu_target.host import build_host, run_host
from npu_target.integer import Quantization
from npu_target.relax_graph import shape_of


def two_layers(b: Builder) -> None:
    """Of ten results, in which only the second layer is the device's own."""
    b.dense("first", 16)
    b.requantize("first", "tflite_double", 0.021, -20)
    b.dense("second", 10)
    b.requantize("second", "float32", 0.002)


def scaled_blocks(b: Builder) -> None:
    """The same with a scale for each block of channels in between."""
    b.dense("first", 40)
    b.requantize("first", "float32", np.repeat([0.02, 0.005, 0.01], 16)[:40])
    b.dense("second", 10)
    b.requantize("second", "float32", 0.002)


def wide_stores(b: Builder) -> None:
    """On images: few products and many results, with a scale for each channel."""
    b.conv("wide", 64, 1)
    b.requantize("wide", "float32", b.random.uniform(0.001, 0.002, 64))


def write_integer_file(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    body: Callable[[Builder], None] = two_layers,
    shape: tuple[int, ...] = (1, 32),
) -> Path:
    """A quantized network, of ten results at first, and ``inputs.npz`` and ``labels.txt`` for
    it."""
    mod = Builder(shape).make(body)
    results = tuple(int(extent) for extent in mod["main"].ret_ty.shape)
    shapes = {"image": shape_of(mod["main"].params[0]), "scores": results}
    infos = {
        name: (TensorInfo(name, shape, "int8", Quantization((0.1,), (3,))),)
        for name, shape in shapes.items()
    }
    imported = Imported(
        "small", mod, True, infos["image"], infos["scores"], {"image": Quantization((0.1,), (3,))}
    )
    module = types.ModuleType("npu_target.frontend.fake")
    module.read = lambda path, shapes: imported
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(SUFFIXES, ".fake", "fake")
    path = folder / "small.fake"
    path.write_bytes(b"")
    # Small numbers: sums then are near to each other's steps.
    samples = [[sample[0] // 16] for sample in inputs_of(mod, 100)]
    np.savez(folder / "inputs.npz", image=np.stack([sample[0] for sample in samples]))
    exact = build_host(mod)
    best = [int(run_host(exact, *sample)[0].argmax()) for sample in samples]
    (folder / "labels.txt").write_text("\n".join(map(str, best)))
    return path
