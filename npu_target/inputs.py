"""What networks are run on: samples from a file or a folder, as many as there are.

A sample is one value for each input of a network, of the input's shape and type. What does not fit
is an error that says which file, what is needed and what is there.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from .errors import UserError
from .frontend import TensorInfo
from .models.image import load_image, load_pixels
from .models.weight_files import is_archive

IMAGES = (".png", ".jpg", ".jpeg", ".bmp")
# What an archive calls the input of a network that has one, where it does not use its name.
_ONLY_INPUT = "input"

Sample = list[np.ndarray]


class InputsError(UserError, ValueError):
    """Inputs that cannot be read, or are none of the network's."""


class Samples(Sequence[Sample]):
    """Samples that are read when they are asked for. ``names`` says where each one is from."""

    def __init__(self, names: Sequence[str], readers: Sequence[Callable[[], Sample]]) -> None:
        self.names = tuple(names)
        self._readers = tuple(readers)

    def __len__(self) -> int:
        return len(self._readers)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]  # of int or slice
        if isinstance(index, slice):
            return Samples(self.names[index], self._readers[index])
        return self._readers[index]()

    def __iter__(self) -> Iterator[Sample]:
        return (read() for read in self._readers)


def read_inputs(path: Path, inputs: Sequence[TensorInfo]) -> Samples:
    """The samples in a file or a folder, for a network that takes ``inputs``.

    path : an ``.npz`` archive with an array for each input by its name (a network's only input may
        also be called ``input``, or be the only array); an ``.npy`` file; or a folder of images,
        ``.npy`` and ``.npz`` files, taken in the order of their names. An array is one sample, or
        any number of them along its first axis.

    Images, for networks with one input of (1, height, width, channels) or (1, channels, height,
    width), channels being 1 or 3: resized to the whole of it, then for float32 normalized as the
    ImageNet networks expect (one channel: 0 to 1), for uint8 the pixels, for int8 those less 128.
    Values of float32 for an integer input are quantized by what its integers are worth.

    Raises
    ------
    InputsError
        for what is not there, cannot be read, or fits no input; of a sample in a folder when it is
        read.
    """
    if not inputs:
        raise InputsError("the network takes no inputs")
    if path.is_dir():
        return _folder(path, inputs)
    if not path.exists():
        raise InputsError(f"{path} is not there")
    return _file(path, inputs)


def _folder(path: Path, inputs: Sequence[TensorInfo]) -> Samples:
    known = (*IMAGES, ".npy", ".npz")
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in known)
    if not files:
        raise InputsError(f"{path} has no files that end in one of: {', '.join(known)}")
    parts = [_file(file, inputs) for file in files]
    return Samples(
        [name for part in parts for name in part.names],
        [reader for part in parts for reader in part._readers],
    )


def _file(path: Path, inputs: Sequence[TensorInfo]) -> Samples:
    suffix = path.suffix.lower()
    if suffix in IMAGES:
        return Samples([path.name], [partial(_image, path, _only(path, inputs))])
    if suffix not in (".npy", ".npz"):
        known = ", ".join((*IMAGES, ".npy", ".npz"))
        raise InputsError(f"{path}: inputs are in a folder or a file that ends in one of: {known}")
    arrays = _load(path, inputs)
    counts = {info.name: _count(path, info, arrays[info.name]) for info in inputs}
    if len(set(counts.values())) != 1:
        said = ", ".join(f"{count} of {name}" for name, count in counts.items())
        raise InputsError(f"{path}: as many samples of each input are needed, there are {said}")
    count = next(iter(counts.values()))
    if count == 0:
        raise InputsError(f"{path} has no samples")
    names = [path.name if count == 1 else f"{path.name}[{index}]" for index in range(count)]
    return Samples(
        names, [partial(_sample, name, inputs, arrays, i) for i, name in enumerate(names)]
    )


def _load(path: Path, inputs: Sequence[TensorInfo]) -> Mapping[str, np.ndarray]:
    """An array for each input by its name; of an ``.npy`` file only what is looked at is read."""
    is_one = path.suffix.lower() == ".npy"
    try:
        # NumPy takes what is neither for pickled data, and says how to load that.
        if not is_one and not is_archive(path):
            raise InputsError(f"{path} is no .npz archive, or cut off; numpy.savez writes one")
        if is_one:
            only = _only(path, inputs)
            return {only.name: np.load(path, mmap_mode="r", allow_pickle=False)}
        with np.load(path, allow_pickle=False) as archive:
            wanted = _names(path, inputs, archive.files)
            return {name: archive[key] for name, key in wanted.items()}
    except InputsError:
        raise
    except (ValueError, OSError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        raise InputsError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error


def _names(path: Path, inputs: Sequence[TensorInfo], keys: Sequence[str]) -> dict[str, str]:
    """What the archive calls each input."""
    missing = [info.name for info in inputs if info.name not in keys]
    if not missing:
        return {info.name: info.name for info in inputs}
    if len(inputs) == 1 and (_ONLY_INPUT in keys or len(keys) == 1):
        return {inputs[0].name: _ONLY_INPUT if _ONLY_INPUT in keys else keys[0]}
    there = ", ".join(keys) or "none"
    raise InputsError(f"{path} has no array for {', '.join(missing)}; its arrays: {there}")


def _count(path: Path, info: TensorInfo, array: np.ndarray) -> int:
    """How many samples of an input an array has."""
    rest = info.shape[1:]
    if array.shape == info.shape or (info.shape[:1] == (1,) and array.shape == rest):
        return 1
    if array.ndim == len(info.shape) + 1 and array.shape[1:] == info.shape:
        return array.shape[0]
    if (
        info.shape
        and array.shape[1:] == rest
        and array.ndim
        and array.shape[0] % info.shape[0] == 0
    ):
        return array.shape[0] // info.shape[0]
    raise InputsError(
        f"{path}: {info.name} must be of shape {info.shape}, or any number of these along the "
        f"first axis, it is {array.shape}"
    )


def _sample(
    name: str, inputs: Sequence[TensorInfo], arrays: Mapping[str, np.ndarray], index: int
) -> Sample:
    sample = []
    for info in inputs:
        samples = arrays[info.name].reshape(-1, *info.shape)
        sample.append(_value(name, info, np.array(samples[index])))
    return sample


def _value(where: str, info: TensorInfo, value: np.ndarray) -> np.ndarray:
    """A value as an input takes it."""
    wanted = np.dtype(info.dtype)
    if np.issubdtype(value.dtype, np.floating) and not np.isfinite(value).all():
        raise InputsError(f"{where}: {info.name} has values that are infinite or not numbers")
    if value.dtype == wanted:
        return np.ascontiguousarray(value)
    if value.dtype == np.float32 and info.quantization is not None:
        (scale, *more), (zero_point, *_) = info.quantization.scale, info.quantization.zero_point
        if not more:
            ends = np.iinfo(wanted)
            steps = np.rint(value / np.float32(scale)) + zero_point
            return np.clip(steps, ends.min, ends.max).astype(wanted)
    raise InputsError(f"{where}: {info.name} must be {wanted}, it is {value.dtype}; convert it")


def _image(path: Path, info: TensorInfo) -> Sample:
    shape = info.shape
    if len(shape) != 4 or shape[0] != 1 or not {shape[1], shape[3]} & {1, 3}:
        raise InputsError(
            f"{path}: {info.name} is of shape {shape}, which is no image; give .npy files"
        )
    is_last = shape[3] in (1, 3)
    height, width, channels = shape[1:] if is_last else (shape[2], shape[3], shape[1])
    if info.dtype == "float32" and channels == 3:
        image = load_image(path, height, width)
    else:
        pixels = load_pixels(path, height, width, "RGB" if channels == 3 else "L")
        if info.dtype == "float32":
            image = pixels.astype("float32") / np.float32(255)
        elif info.dtype == "int8":
            image = (pixels.astype("int16") - 128).astype("int8")
        elif info.dtype == "uint8":
            image = pixels
        else:
            raise InputsError(f"{path}: {info.name} is {info.dtype}, which is no image")
    return [np.ascontiguousarray(image if is_last else image.transpose(0, 3, 1, 2))]


def _only(path: Path, inputs: Sequence[TensorInfo]) -> TensorInfo:
    if len(inputs) != 1:
        names = ", ".join(info.name for info in inputs)
        raise InputsError(
            f"{path}: the network takes {len(inputs)} inputs ({names}); give .npz files with an "
            "array for each"
        )
    return inputs[0]
