"""Arrays by name from the files that weights come in: .npz, .safetensors, .pt state dicts.

What is pickled is never run: a .pt file is read as tensors alone.
"""

from __future__ import annotations

import pickle
import zipfile
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .errors import ModelError

_NEEDED = ".npz, .safetensors, .pt or .pth"


def read_weights(file: str | Path) -> dict[str, np.ndarray]:
    """All arrays of a file, in the type that they have in it; bfloat16, which NumPy lacks, as
    float32.

    Raises :class:`ModelError` for a file that is not there, damaged or of another kind, and where
    the package is missing that reads it.
    """
    path = Path(file)
    if path.is_dir():
        raise ModelError(f"{file} is a folder; a file is needed, {_NEEDED}")
    if not path.is_file():
        raise ModelError(f"{file}: no such weight file; {_NEEDED} is needed")
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise ModelError(f"{file}: the name of a weight file ends in {_NEEDED}")
    return reader(path)


def is_archive(path: Path) -> bool:
    """Whether a file is an .npz archive to its end. Raises OSError where it cannot be read."""
    with path.open("rb") as file:
        return zipfile.is_zipfile(file)


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    try:
        # NumPy takes what is no archive for a single array, or for pickled data.
        if not is_archive(path):
            raise ModelError(f"{path} is no .npz archive, or cut off; numpy.savez writes one")
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except ModelError:
        raise
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(f"{path}: not a readable .npz file ({error})") from error


def _read_safetensors(path: Path) -> dict[str, np.ndarray]:
    _need(path, "safetensors", "safetensors")
    from safetensors import SafetensorError, deserialize

    try:
        entries = deserialize(path.read_bytes())
        return {name: _array(name, entry) for name, entry in entries}
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelError(f"{path}: not a readable .safetensors file ({error})") from error


# By what the format calls them.
_TYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


def _array(name: str, entry: dict[str, Any]) -> np.ndarray:
    if entry["dtype"] == "BF16":
        # The upper half of a float32.
        upper = np.frombuffer(entry["data"], "<u2").astype("uint32") << 16
        return upper.view("float32").reshape(entry["shape"])
    if entry["dtype"] not in _TYPES:
        raise ValueError(f"{name} is {entry['dtype']}, float32 is needed")
    return np.frombuffer(entry["data"], _TYPES[entry["dtype"]]).reshape(entry["shape"])


def _read_torch(path: Path) -> dict[str, np.ndarray]:
    _need(path, "torch", "torch")
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"{path}: holds more than tensors, and what is pickled can run code when it is read; "
            "save its state dict: torch.save(module.state_dict(), file)"
        ) from error
    # A damaged file ends in whatever PyTorch's reader trips over: it indexes, asserts and unpacks
    # what it reads.
    except Exception as error:
        line = next(iter(str(error).splitlines()), "")
        raise ModelError(
            f"{path}: not a readable .pt file ({type(error).__name__} {line})"
        ) from error
    # As a checkpoint of a training has it.
    if isinstance(found, dict) and isinstance(found.get("state_dict"), dict):
        found = found["state_dict"]
    if not isinstance(found, dict) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in found.items()
    ):
        raise ModelError(
            f"{path}: is no state dict, but {type(found).__name__}; save one: "
            "torch.save(module.state_dict(), file)"
        )
    return {name: _from_torch(path, name, tensor) for name, tensor in found.items()}


def _from_torch(path: Path, name: str, tensor: Any) -> np.ndarray:
    import torch

    if tensor.is_quantized or tensor.layout is not torch.strided:
        raise ModelError(f"{path}: {name} is quantized or sparse, a plain tensor is needed")
    array: np.ndarray = (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()
    return array


def _need(path: Path, package: str, extra: str) -> None:
    if find_spec(package) is None:
        raise ModelError(
            f"{path}: {package} is needed to read it: pip install 'npu_target[{extra}]'"
        )


_READERS: dict[str, Callable[[Path], dict[str, np.ndarray]]] = {
    ".npz": _read_npz,
    ".safetensors": _read_safetensors,
    ".pt": _read_torch,
    ".pth": _read_torch,
}
