"""A ``.pt2`` file as a zip archive, made safe before PyTorch sees it.

``torch.export.load`` runs what it finds: it unpickles sample inputs, weights and constants that
say they are pickled, loads compiled libraries, evaluates the text of symbolic sizes, and compiles
names and guards as Python. None of it is needed. Here every entry is read by Python's own zip
reader, which checks sizes and checksums; an archive that holds more than numbers and a graph is
refused, and what is left is written anew.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import FrontendError
from .document import checked_document, checked_strings, objects_of, read_json, written_json

_MODEL = "models/model.json"
_CONFIGS = {
    "data/weights/": "model_weights_config.json",
    "data/constants/": "model_constants_config.json",
}
_SAMPLE_INPUTS = "data/sample_inputs/model.pt"
_PLAIN = ("archive_format", "archive_version", "byteorder", ".data/version")
_SAVE_AGAIN = "save the program with torch.export.save of PyTorch 2.9 or later"


def safe_archive(path: Path) -> io.BytesIO:
    """The archive of a file, without what could run when it is loaded.

    Raises
    ------
    FrontendError
        for a file that ``torch.export.save`` did not write, is damaged, or needs what is unsafe.
    """
    entries = _entries(path)
    # The archive's folder: all entries are in it.
    root = next(iter(entries)).partition("/")[0] if entries else ""
    files = {name.partition("/")[2]: data for name, data in entries.items()}
    if any(not name.startswith(f"{root}/") for name in entries) or _MODEL not in files:
        raise FrontendError(_what_it_is(path, list(entries)))
    if files.get("archive_format") != b"pt2" or files.get("byteorder", b"little") != b"little":
        raise FrontendError(f"{path}: its archive has another form or byte order; {_SAVE_AGAIN}")
    models = [name for name in files if name.startswith("models/")]
    if len(models) != 1:
        raise FrontendError(f"{path}: holds {len(models)} programs, one is needed: {models}")
    if any(name.startswith("data/aotinductor/") for name in files):
        raise FrontendError(
            f"{path}: holds compiled code (AOTInductor), which is not run here; {_SAVE_AGAIN}"
        )
    safe = {name: files[name] for name in _PLAIN if name in files}
    safe[_MODEL] = checked_document(path, files[_MODEL])
    safe[_SAMPLE_INPUTS] = b""  # Pickled, and not needed.
    for folder, config in _CONFIGS.items():
        safe |= _tensors(path, files, folder, config)
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as archive:
        for name, data in safe.items():
            archive.writestr(f"{root}/{name}", data)
    result.seek(0)
    return result


def _entries(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            if not any(name.endswith(f"/{_MODEL}") for name in names):
                raise FrontendError(_what_it_is(path, names))
            # PyTorch stores; so an archive cannot hold more than the file is long.
            if any(info.compress_type != zipfile.ZIP_STORED for info in infos) or (
                sum(info.file_size for info in infos) > path.stat().st_size
            ):
                raise FrontendError(f"{path}: has compressed entries; {_SAVE_AGAIN}")
            if len(set(names)) != len(names):
                raise FrontendError(f"{path}: has several entries of one name; {_SAVE_AGAIN}")
            return {info.filename: archive.read(info) for info in infos}
    except (
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        EOFError,
        ValueError,
        RuntimeError,
        NotImplementedError,  # of zipfile: kinds of archives that it does not read
    ) as error:
        if isinstance(error, FrontendError):
            raise
        raise FrontendError(
            f"{path}: not a file that torch.export.save wrote, or damaged ({error})"
        ) from error


def _what_it_is(path: Path, entries: list[str]) -> str:
    """Why an archive is no exported program."""
    names = {name.rpartition("/")[2] for name in entries}
    if "serialized_exported_program.json" in names:
        return f"{path}: was written by a PyTorch before 2.8; load it there and {_SAVE_AGAIN}"
    if "constants.pkl" in names:
        return (
            f"{path}: is TorchScript (torch.jit.save), not an exported program; export the module "
            "by torch.export.export and save it by torch.export.save"
        )
    if "data.pkl" in names:
        return (
            f"{path}: is pickled (torch.save: a state dict or a module), not an exported program; "
            "export the module by torch.export.export and save it by torch.export.save"
        )
    return f"{path}: holds no program; {_SAVE_AGAIN}"


def _tensors(path: Path, files: Mapping[str, bytes], folder: str, config: str) -> dict[str, bytes]:
    """A configuration and the tensors that it names."""
    name = folder + config
    if name not in files:
        raise FrontendError(f"{path}: has no {name}; {_SAVE_AGAIN}")
    document = read_json(path, name, files[name])
    entries = document.get("config")
    if not isinstance(entries, dict):
        raise FrontendError(f"{path}: {name} is damaged: it has no 'config'")
    found = {}
    for tensor, entry in entries.items():
        checked_strings(path, [tensor, entry])
        if not isinstance(entry, dict) or not {"use_pickle", "tensor_meta"} <= entry.keys():
            raise FrontendError(f"{path}: {name} is damaged: it does not say what {tensor} is")
        if entry["use_pickle"] or entry["tensor_meta"] is None:
            raise FrontendError(
                f"{path}: {tensor} is pickled, and what is pickled can run code when it is "
                "read; make it a plain tensor (.contiguous(), no subclass) before exporting"
            )
        place = f"{folder}{entry.get('path_name')}"
        if place not in files:
            raise FrontendError(f"{path}: {name} is damaged: {tensor} has no data at {place}")
        _check_size(path, tensor, entry["tensor_meta"], len(files[place]))
        found[place] = files[place]
    for value in objects_of(document):  # tensors that were on another device, here on the CPU
        if isinstance(value.get("device"), dict):
            value["device"] = {"type": "cpu", "index": None}
    found[name] = written_json(path, name, document)
    return found


def _check_size(path: Path, tensor: str, meta: Any, size_bytes: int) -> None:
    """No more elements than there are bytes: a tensor may repeat what it holds without end."""
    sizes = meta.get("sizes") if isinstance(meta, dict) else None
    if not isinstance(sizes, list):
        raise FrontendError(f"{path}: the sizes of {tensor} are damaged")
    elements = 1
    for size in sizes:
        extent = size.get("as_int") if isinstance(size, dict) else None
        if not isinstance(extent, int):
            raise FrontendError(f"{path}: the sizes of {tensor} are damaged")
        elements *= max(0, extent)
    if elements > size_bytes:
        raise FrontendError(
            f"{path}: {tensor} has {elements} elements in {size_bytes} bytes; if it is expanded, "
            "make it .contiguous() before exporting, else the file is damaged"
        )
