"""An .onnx file as a protobuf of bounded size, with its tensors in it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FrontendError


def load_model(path: Path) -> Any:
    """The ``onnx.ModelProto`` in a file, external data read in.

    Raises
    ------
    FrontendError
        for a file that is no model, a tensor that is not as long as it says, external data that is
        not there.
    """
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_model_from_string(path.read_bytes())
    except (DecodeError, ValueError, UnicodeDecodeError) as error:
        raise FrontendError(f"{path}: not an ONNX model, or cut off ({error})") from error
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise FrontendError(f"{path}: not an ONNX model: there is no graph in it")
    _check_names(path, model.graph)
    for tensor in model.graph.initializer:
        complete_tensor(path, tensor)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                complete_tensor(path, attribute.t)
    return model


def _check_names(path: Path, graph: Any) -> None:
    """Names that are no UTF-8 come as bytes."""
    names = [value.name for value in [*graph.input, *graph.output, *graph.initializer]]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        names += [attribute.name for attribute in node.attribute]
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise FrontendError(f"{path}: not an ONNX model, or broken: {wrong[0]!r} is no name")


def require_onnx(path: Path) -> None:
    """Raise :class:`FrontendError` where the package ``onnx`` cannot be imported."""
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise FrontendError(
            f"{path}: .onnx files need the package onnx: pip install 'npu_target[onnx]'"
        ) from error


def complete_tensor(path: Path, tensor: Any) -> None:
    """Check a ``TensorProto``'s length before anybody makes an array of it; read external data."""
    from onnx import TensorProto, helper

    place = f"{path}: tensor {tensor.name!r}"
    if any(extent < 0 for extent in tensor.dims):
        raise FrontendError(f"{place}: its shape {list(tensor.dims)} has negative extents")
    if tensor.data_type not in helper.get_all_tensor_dtypes() or tensor.data_type in (
        TensorProto.STRING,
        TensorProto.UNDEFINED,
    ):
        raise FrontendError(f"{place}: numbers of type {tensor.data_type} are not known")
    dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    count = math.prod(tensor.dims)
    if tensor.data_location == TensorProto.EXTERNAL:
        _read_external(path, place, tensor, count * dtype.itemsize)
    elif tensor.HasField("raw_data"):
        bits = _BITS.get(tensor.data_type, 8 * dtype.itemsize)
        needed = (count * bits + 7) // 8
        if len(tensor.raw_data) != needed:
            raise FrontendError(
                f"{place}: shape {list(tensor.dims)} takes {needed} bytes, there are "
                f"{len(tensor.raw_data)}"
            )
    else:
        name = helper.tensor_dtype_to_field(tensor.data_type)
        given = len(getattr(tensor, name))
        if given != count and tensor.data_type not in _BITS and dtype.kind != "c":
            raise FrontendError(
                f"{place}: shape {list(tensor.dims)} takes {count} numbers, there are {given}"
            )
    if tensor.data_type == TensorProto.FLOAT and tensor.HasField("raw_data"):
        values = np.frombuffer(tensor.raw_data, "<f4")
    elif tensor.data_type == TensorProto.FLOAT:
        values = np.array(tensor.float_data, "float32")
    else:
        return
    if np.isnan(values).any():
        raise FrontendError(f"{place}: some of its values are not numbers (NaN)")


# Types of which several are in a byte: INT4, UINT4, FLOAT4E2M1, INT2, UINT2.
_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}


def _read_external(path: Path, place: str, tensor: Any, needed: int) -> None:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    folder = path.resolve().parent
    file = (folder / location).resolve()
    if not location or folder not in file.parents:
        raise FrontendError(f"{place}: its data must lie beside the model, not in {location!r}")
    if not file.is_file():
        raise FrontendError(f"{place}: its data is in {file.name}, which is not there; copy it too")
    try:
        offset = int(entries.get("offset", "0"))
        length = int(entries.get("length", str(needed)))
    except ValueError as error:
        raise FrontendError(f"{place}: where its data is, is no number: {entries}") from error
    if length != needed or offset < 0 or offset + length > file.stat().st_size:
        raise FrontendError(
            f"{place}: it takes {needed} bytes from {offset} on of {file.name}, which has "
            f"{file.stat().st_size}, and says {length}"
        )
    with file.open("rb") as stream:
        stream.seek(offset)
        tensor.raw_data = stream.read(length)
    del tensor.external_data[:]
    tensor.data_location = 0
