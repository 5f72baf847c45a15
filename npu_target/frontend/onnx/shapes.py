"""Static shapes: what a file leaves open is given, and nothing is larger than makes sense."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import FrontendError

# Elements of one tensor: a gigabyte of float32. More is a file that is broken.
_MOST_ELEMENTS = 2**28


def fix_inputs(path: Path, model: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Write ``shapes`` into the model's inputs; all are static then.

    Raises :class:`FrontendError` for names that are no input, shapes that do not fit the file's,
    and inputs that stay open.
    """
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = {value.name: value for value in model.graph.input if value.name not in constants}
    for name in shapes:
        if name not in inputs:
            known = ", ".join(inputs) or "none"
            raise FrontendError(f"{path}: no input is called {name!r}; its inputs: {known}")
    for name, value in inputs.items():
        if not value.type.HasField("tensor_type"):
            raise FrontendError(f"{path}: input {name!r} is no tensor")
        _fix(path, name, value.type.tensor_type, shapes.get(name))


def _fix(path: Path, name: str, tensor: Any, given: tuple[int, ...] | None) -> None:
    known = tensor.HasField("shape")
    dims = list(tensor.shape.dim)
    if given is not None:
        fits = not known or (
            len(dims) == len(given)
            and all(
                not dim.HasField("dim_value") or dim.dim_value <= 0 or dim.dim_value == extent
                for dim, extent in zip(dims, given, strict=True)
            )
        )
        if not fits or any(extent < 1 for extent in given):
            raise FrontendError(
                f"{path}: input {name!r} is {_described(tensor)} in the file, which {given} does "
                "not fit"
            )
        del tensor.shape.dim[:]
        for extent in given:
            tensor.shape.dim.add().dim_value = extent
    elif not known or any(dim.dim_value < 1 for dim in dims):
        example = ",".join(str(max(dim.dim_value, 1)) for dim in dims) or "1,3,224,224"
        raise FrontendError(
            f"{path}: the shape of input {name!r} is open, {_described(tensor)}; fix it by "
            f"--shape {name}={example}"
        )
    count = math.prod(dim.dim_value for dim in tensor.shape.dim)
    if count > _MOST_ELEMENTS:
        raise FrontendError(f"{path}: input {name!r} has {count} elements, which is too many")


def _described(tensor: Any) -> str:
    if not tensor.HasField("shape"):
        return "of unknown rank"
    dims = [dim.dim_param or dim.dim_value or "?" for dim in tensor.shape.dim]
    return f"[{', '.join(map(str, dims))}]"


def infer(path: Path, model: Any) -> Any:
    """The model, checked by ONNX's own checker, with the shapes of all values that it finds."""
    import onnx
    from google.protobuf.message import Error

    try:
        inferred = onnx.shape_inference.infer_shapes(
            model, check_type=True, strict_mode=True, data_prop=True
        )
        # Afterwards, as it wants shapes of outputs that files may leave out.
        onnx.checker.check_model(inferred)
    # Both, and what C++ and Python say of numbers that are out of range and names that are no text.
    except (
        onnx.shape_inference.InferenceError,
        onnx.checker.ValidationError,
        Error,
        ValueError,
        IndexError,
        RuntimeError,
    ) as error:
        text = " ".join(str(error).split())
        raise FrontendError(f"{path}: not a valid ONNX model: {text[:400]}") from error
    for value in [*inferred.graph.value_info, *inferred.graph.output]:
        extents = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if any(extent < 0 for extent in extents) or math.prod(extents) > _MOST_ELEMENTS:
            raise FrontendError(
                f"{path}: {value.name!r} would be of shape {extents}, which makes no sense"
            )
    return inferred


def value_shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """The static shapes that a model says or has inferred, by the value's name."""
    found = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    graph = model.graph
    for value in [*graph.input, *graph.value_info, *graph.output]:
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(
            dim.HasField("dim_value") for dim in dims
        ):
            found.setdefault(value.name, tuple(dim.dim_value for dim in dims))
    return found
