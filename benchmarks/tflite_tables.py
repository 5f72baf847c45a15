"""Writing TFLite files by hand: what every table of one has in common."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np


def table(b: Any, name: str, **entries: Any) -> int:
    """One of a name of the schema, with these entries; `b` is a `flatbuffers.Builder`."""
    module = import_module(f"tflite.{name}")
    getattr(module, f"{name}Start")(b)
    for entry, value in entries.items():
        getattr(module, f"{name}Add{entry}")(b, value)
    return int(getattr(module, f"{name}End")(b))


def vector(b: Any, offsets: Sequence[int]) -> int:
    """Of tables."""
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def finished(
    b: Any,
    *,
    tensors: Sequence[int],
    operators: Sequence[int],
    codes: Sequence[int],
    buffers: Sequence[int],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> bytes:
    """The file: one graph of these tables, its inputs and outputs by their tensors' indices."""
    graph = table(
        b,
        "SubGraph",
        Tensors=vector(b, tensors),
        Operators=vector(b, operators),
        Inputs=b.CreateNumpyVector(np.array(inputs, np.int32)),
        Outputs=b.CreateNumpyVector(np.array(outputs, np.int32)),
    )
    root = table(
        b,
        "Model",
        Version=3,
        OperatorCodes=vector(b, codes),
        Subgraphs=vector(b, [graph]),
        Buffers=vector(b, buffers),
    )
    b.Finish(root, b"TFL3")
    return bytes(b.Output())
