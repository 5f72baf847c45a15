"""A ``.tflite`` file as records: nothing is believed of it that was not checked here.

The file is a FlatBuffer (TFLite's ``schema.fbs``), read by the ``tflite`` package: tables that
point to each other anywhere in the file. What is made of them is bounded by the file's length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FrontendError
from ..foreign import refusing
from .options import NotOfTheOperator, read_options

IDENTIFIER = b"TFL3"

# More elements have no tensor of a network for such devices; a wrong shape has easily.
MOST_ELEMENTS = 1 << 28
_MOST_AXES = 8
# Of a vector's entries that become Python objects, at most so many for a byte of the file: vectors
# may share their bytes.
_MOST_ENTRIES_A_BYTE = 8

# By TFLite's TensorType; others have no NumPy type or no use here.
DTYPES = {
    0: "float32",
    1: "float16",
    2: "int32",
    3: "uint8",
    4: "int64",
    6: "bool",
    7: "int16",
    9: "int8",
    10: "float64",
    12: "uint64",
    15: "uint32",
    16: "uint16",
}

_NEWER_CODE = 10  # in the table of an OperatorCode's fields


@dataclass(frozen=True)
class Tensor:
    """A tensor of the file.

    signature : the shape, -1 where the file leaves an extent open.
    scales, zero_points : empty where it is not quantized; more than one along ``axis``.
    data : of a constant.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    dtype: str
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    data: np.ndarray | None
    sparse: bool


@dataclass(frozen=True)
class Record:
    """An operator of the file: ``kind`` as TFLite calls it, tensors by index (-1: left out)."""

    index: int
    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Network:
    """The main graph of a file, operators in the order in which they are computed."""

    path: Path
    tensors: tuple[Tensor, ...]
    operators: tuple[Record, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def read_file(path: Path) -> Network:
    """The records of a file.

    Raises
    ------
    FrontendError
        for a file that is no sound ``.tflite`` file, and where the ``tflite`` package is missing.
    """
    try:
        import tflite
    except ModuleNotFoundError as error:
        raise FrontendError(
            f"{path}: reading .tflite files needs a package: pip install 'npu_target[tflite]'"
        ) from error
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FrontendError(f"{path}: {error.strerror}") from error
    if content[4:8] != IDENTIFIER:
        raise FrontendError(f"{path} is no .tflite file: its bytes 4 to 7 are not 'TFL3'")
    with refusing(lambda error: f"{path} is cut off: {error}"):
        root = tflite.Model.GetRootAs(content, 0)
    return _Reader(path, content, root).network()


class _Reader:
    """Reads one file."""

    def __init__(self, path: Path, content: bytes, model: Any) -> None:
        self._path = path
        self._content = content
        self._model = model
        self._entries_left = _MOST_ENTRIES_A_BYTE * len(content)

    def _read(self, field: Callable[..., Any], *arguments: Any) -> Any:
        """A field of a table, by a method of the package. Wrong offsets end in anything."""
        with refusing(lambda error: f"{self._path} is damaged or cut off: {error}"):
            return field(*arguments)

    def network(self) -> Network:
        if self._read(self._model.Version) != 3:
            raise FrontendError(
                f"{self._path}: schema version {self._read(self._model.Version)} is not known; 3 is"
            )
        if self._read(self._model.SubgraphsLength) < 1:
            raise FrontendError(f"{self._path} holds no graph")
        graph = self._read(self._model.Subgraphs, 0)
        tensors = tuple(
            self._tensor(index, self._read(graph.Tensors, index))
            for index in range(self._count(self._read(graph.TensorsLength)))
        )
        kinds = [
            self._kind(self._read(self._model.OperatorCodes, index))
            for index in range(self._count(self._read(self._model.OperatorCodesLength)))
        ]
        operators = tuple(
            self._operator(index, self._read(graph.Operators, index), kinds, len(tensors))
            for index in range(self._count(self._read(graph.OperatorsLength)))
        )
        inputs = self._indices(self._read(graph.InputsAsNumpy), len(tensors), "the graph's inputs")
        outputs = self._indices(
            self._read(graph.OutputsAsNumpy), len(tensors), "the graph's outputs"
        )
        if -1 in (*inputs, *outputs) or not outputs:
            raise FrontendError(f"{self._path}: the graph's inputs or outputs are left out")
        return Network(self._path, tensors, operators, inputs, outputs)

    def _count(self, length: int) -> int:
        """A vector's length, if the file can hold so many entries and has not shown too many."""
        self._entries_left -= length
        if 4 * length > len(self._content) or self._entries_left < 0:
            raise FrontendError(
                f"{self._path} is damaged: it claims {length} entries in {len(self._content)} bytes"
            )
        return length

    def _numbers(self, values: Any) -> list[Any]:
        """A vector as Python numbers; the package gives 0 for one that is left out."""
        if not isinstance(values, np.ndarray):
            return []
        self._count(values.size)
        numbers: list[Any] = values.tolist()
        return numbers

    def _indices(self, values: Any, tensors: int, where: str) -> tuple[int, ...]:
        indices = tuple(self._numbers(values))
        for index in indices:
            if not -1 <= index < tensors:
                raise FrontendError(
                    f"{self._path}: {where}: tensor {index} is asked for, there are {tensors}"
                )
        return indices

    def _kind(self, code: Any) -> str:
        import tflite

        # Numbers above 127 are in the newer field only. TFLite takes the larger of the two fields,
        # where the package's BuiltinCode() prefers the older.
        number = max(self._newer_code(code), self._read(code.DeprecatedBuiltinCode))
        if number == tflite.BuiltinOperator.CUSTOM:
            return f"custom {self._text(self._read(code.CustomCode))}"
        for name, value in vars(tflite.BuiltinOperator).items():
            if value == number and not name.startswith("_"):
                return name
        return f"operator number {number}"

    def _newer_code(self, code: Any) -> int:
        """The fourth field of an ``OperatorCode``, ``builtin_code``; 0 where it is left out."""
        from flatbuffers.number_types import Int32Flags

        at = self._read(code._tab.Offset, _NEWER_CODE)
        return int(self._read(code._tab.Get, Int32Flags, at + code._tab.Pos)) if at else 0

    def _text(self, text: bytes | None) -> str:
        return (text or b"").decode("utf-8", "replace")

    def _tensor(self, index: int, table: Any) -> Tensor:
        name = self._text(self._read(table.Name)) or f"tensor_{index}"
        where = f"{self._path}: tensor {index} ({name})"
        shape = self._shape(self._read(table.ShapeAsNumpy), where)
        signature = self._shape(self._read(table.ShapeSignatureAsNumpy), where)
        number = self._read(table.Type)
        dtype = DTYPES.get(number, f"of type number {number}")
        numbers = self._read(table.Quantization)
        scales, zero_points, axis = [], [], 0
        if numbers is not None:
            scales = self._numbers(self._read(numbers.ScaleAsNumpy))
            zero_points = self._numbers(self._read(numbers.ZeroPointAsNumpy))
            axis = self._read(numbers.QuantizedDimension)
        return Tensor(
            index=index,
            name=name,
            shape=shape,
            signature=signature or shape,
            dtype=dtype,
            scales=tuple(scales),
            zero_points=tuple(zero_points),
            axis=axis,
            data=self._data(self._read(table.Buffer), shape, number, where),
            sparse=self._read(table.Sparsity) is not None,
        )

    def _shape(self, values: Any, where: str) -> tuple[int, ...]:
        shape = tuple(self._numbers(values))
        # An extent of 0 or -1 is one that is only known when the network runs.
        if len(shape) > _MOST_AXES or math.prod(max(extent, 1) for extent in shape) > MOST_ELEMENTS:
            raise FrontendError(f"{where}: a tensor of shape {shape} is too large")
        return shape

    def _data(
        self, buffer: int, shape: tuple[int, ...], number: int, where: str
    ) -> np.ndarray | None:
        if not 0 <= buffer < max(self._read(self._model.BuffersLength), 1):
            raise FrontendError(f"{where}: its data is buffer {buffer}, which is not there")
        if buffer == 0 or number not in DTYPES:
            return None
        table = self._read(self._model.Buffers, buffer)
        dtype = np.dtype(DTYPES[number])
        if self._read(table.Offset) > 1:  # behind the FlatBuffer, in files above 2 GiB
            size, offset = self._read(table.Size), self._read(table.Offset)
            raw = self._read(np.frombuffer, self._content, "uint8", size, offset)
        else:
            raw = self._read(table.DataAsNumpy)
            if not isinstance(raw, np.ndarray) or raw.size == 0:
                return np.empty(shape, dtype) if 0 in shape else None
        if min(shape, default=1) < 0 or raw.size != math.prod(shape) * dtype.itemsize:
            raise FrontendError(
                f"{where}: {raw.size} bytes of data are no {dtype} tensor of shape {shape}"
            )
        data = raw.view(dtype).reshape(shape)
        if data.dtype.kind == "f" and np.isnan(data).any():
            raise FrontendError(f"{where}: its data holds values that are not a number (NaN)")
        return data

    def _operator(self, index: int, table: Any, kinds: list[str], tensors: int) -> Record:
        code = self._read(table.OpcodeIndex)
        if code >= len(kinds):
            raise FrontendError(f"{self._path}: operator {index} is of kind {code}, there is none")
        kind = kinds[code]
        where = f"operator {index} ({kind})"
        try:
            options = read_options(kind, table, self._read, self._numbers)
        except NotOfTheOperator as error:
            raise FrontendError(f"{self._path}: {where}: {error}") from error
        return Record(
            index=index,
            kind=kind,
            inputs=self._indices(self._read(table.InputsAsNumpy), tensors, where),
            outputs=self._indices(self._read(table.OutputsAsNumpy), tensors, where),
            options=options,
        )
