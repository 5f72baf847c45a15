"""Networks in .onnx files, in float or quantized."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from ..imported import Imported
from .file import require_onnx

__all__ = ["read"]


def read(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> Imported:
    """As `reader.read`; FrontendError as well without the package ``onnx``, which TVM's importer
    needs when it is imported."""
    require_onnx(path)
    imported: Imported = import_module(".reader", __package__).read(path, shapes)
    return imported
