"""Quantized ONNX models beside ONNX Runtime, tensor by tensor. Needs both packages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx_models import run, with_layers

from npu_target.frontend import load
from npu_target.host import build_host, run_host


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    """Its file."""
    onnx.save(model, folder / "net.onnx")
    return folder / "net.onnx"


def layers_of(
    model: onnx.ModelProto, folder: Path, *inputs: np.ndarray, optimized: bool = True
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """(ours, ONNX Runtime's) of all quantized tensors and the outputs, by name."""
    layers = with_layers(model)
    imported = load(saved(layers, folder))
    assert imported.integer
    assert [info.name for info in imported.outputs] == [value.name for value in layers.graph.output]
    found = run_host(build_host(imported.mod), *inputs)
    for info, ours in zip(imported.outputs, found, strict=True):
        assert (str(ours.dtype), ours.shape) == (info.dtype, info.shape)
    wanted = run(layers, *inputs, optimized=optimized)
    names = [info.name for info in imported.outputs]
    return dict(zip(names, zip(found, wanted, strict=True), strict=True))


def check_layers(model: onnx.ModelProto, folder: Path, image: np.ndarray) -> int:
    """All quantized tensors are equal, each layer's with those before it. Returns how many."""
    pairs = layers_of(model, folder, image)
    for name, (ours, theirs) in pairs.items():
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    return len(pairs)
