"""From a file to a network, by what the file is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from .errors import FrontendError
from .imported import Imported

Shapes = Mapping[str, tuple[int, ...]]
Reader = Callable[[Path, Shapes], Imported]

# By a file's suffix: the package beside this file whose `read` it is for.
SUFFIXES: dict[str, str] = {
    ".onnx": "onnx",
    ".pt2": "torch",
    ".tflite": "tflite",
}


def load(path: Path | str, shapes: Shapes | None = None) -> Imported:
    """The network in a file.

    shapes : of inputs by name, for those that the file leaves open.

    Raises
    ------
    FrontendError
        for a file that is not there, is no network or one that cannot be imported, and where a
        package is missing that reads it.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise FrontendError(f"{path}: the name of a network's file ends in one of: {known}")
    if not path.is_file():
        raise FrontendError(f"{path} is not there")
    read: Reader = import_module(f".{SUFFIXES[path.suffix]}", __package__).read
    return read(path, shapes or {})
