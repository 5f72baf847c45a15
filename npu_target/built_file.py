"""What `npu-target build` writes: a shared library, and behind it what it was built from and a
checksum.

    the library | description, JSON | SHA-256 of both | bytes of the description, 8 | MAGIC

A loader looks at the library alone and does not notice the rest. But of a file that is cut off, or
changed in one place, it would notice nothing either, or end the process: so the checksum is looked
at before the file is loaded.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import npu_target

from .errors import UserError
from .frontend import TensorInfo
from .integer.quantization import Quantization

_MAGIC = b"NPUBUILT"
_TAIL = struct.Struct("<32sQ8s")
_BLOCK_BYTES = 1 << 20


class BuiltFileError(UserError, RuntimeError):
    """A file that `npu-target build` has not written, or not like this; the text says which."""


@dataclass(frozen=True)
class Built:
    """What a file was built from: the model's name, the device's, and what the network takes."""

    model: str
    device: str
    inputs: tuple[TensorInfo, ...]


def seal(library: Path, built: Built) -> None:
    """Add the description and the checksum to a shared library. Raises OSError."""
    described = json.dumps({**asdict(built), "npu_target": npu_target.__version__}).encode()
    with library.open("ab") as file:
        file.write(described)
    digest = _digest(library, library.stat().st_size, len(described))
    with library.open("ab") as file:
        file.write(_TAIL.pack(digest, len(described), _MAGIC))


def again_with(path: Path) -> str:
    """What makes a file that was built once."""
    return f"make it with: npu-target build --model MODEL -o {path}"


def read_built(path: Path) -> Built:
    """What a file was built from, which is whole. Raises BuiltFileError for any other."""
    again = again_with(path)
    try:
        if not path.exists():
            raise BuiltFileError(f"{path} is not there; {again}")
        if not path.is_file():
            raise BuiltFileError(f"{path} is no file; give one that npu-target build wrote")
        end = path.stat().st_size - _TAIL.size
        with path.open("rb") as file:
            file.seek(max(0, end))
            tail = file.read()
            if len(tail) != _TAIL.size or not tail.endswith(_MAGIC):
                raise BuiltFileError(
                    f"{path} is not what npu-target build writes, or is cut off; give a file that "
                    "it wrote"
                )
            digest, described_bytes, _ = _TAIL.unpack(tail)
            if digest != _digest(path, end, described_bytes):
                raise BuiltFileError(f"{path} is damaged: its checksum is another; {again}")
            file.seek(end - described_bytes)
            described = json.loads(file.read(described_bytes))
    except OSError as error:
        raise BuiltFileError(f"{path} cannot be read: {error.strerror or error}") from error
    if described["npu_target"] != npu_target.__version__:
        raise BuiltFileError(
            f"{path} was built by npu_target {described['npu_target']}, this is "
            f"{npu_target.__version__}; {again}"
        )
    return Built(described["model"], described["device"], _inputs(described["inputs"]))


def _inputs(items: Sequence[dict]) -> tuple[TensorInfo, ...]:
    found = []
    for item in items:
        by = item["quantization"]
        if by is not None:
            by = Quantization(tuple(by["scale"]), tuple(by["zero_point"]), by["axis"])
        found.append(TensorInfo(item["name"], tuple(item["shape"]), item["dtype"], by))
    return tuple(found)


def _digest(path: Path, size: int, described_bytes: int) -> bytes:
    """Of the first so many bytes, and of how many of them are the description."""
    digest = hashlib.sha256(struct.pack("<Q", described_bytes))
    with path.open("rb") as file:
        while size > 0 and (block := file.read(min(size, _BLOCK_BYTES))):
            digest.update(block)
            size -= len(block)
    return digest.digest()
