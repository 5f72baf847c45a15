"""Small ``.tflite`` files made here, and what TFLite's reference kernels compute of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.tflite_tables import finished, table
from npu_target.frontend import Imported, load
from npu_target.host import build_host, run_host
from npu_target.integer import operation_of
from npu_target.relax_graph import Graph

# Who imports this file is skipped without them.
flatbuffers = pytest.importorskip("flatbuffers")
tflite = pytest.importorskip("tflite")
pytest.importorskip("ai_edge_litert", reason="no ai-edge-litert, which holds TFLite's kernels")

# Of kinds that came into the schema with a later one.
FIRST_VERSIONS = {"BROADCAST_TO": 2}
TYPES = {
    "float32": tflite.TensorType.FLOAT32,
    "float16": tflite.TensorType.FLOAT16,
    "int32": tflite.TensorType.INT32,
    "uint8": tflite.TensorType.UINT8,
    "int64": tflite.TensorType.INT64,
    "bool": tflite.TensorType.BOOL,
    "int16": tflite.TensorType.INT16,
    "int8": tflite.TensorType.INT8,
}


@dataclass(frozen=True)
class T:
    """A tensor: of data if they are given, else of a shape and type."""

    shape: tuple[int, ...] = ()
    dtype: str = "int8"
    scale: float | Sequence[float] | None = None
    zero_point: int = 0
    axis: int = 0
    data: np.ndarray | None = None
    signature: tuple[int, ...] | None = None
    name: str | None = None

    @property
    def like(self) -> dict[str, Any]:
        """Its type and what its numbers are worth, for another tensor."""
        return {"dtype": self.dtype, "scale": self.scale, "zero_point": self.zero_point}

    @staticmethod
    def of(data: np.ndarray, **numbers: Any) -> T:
        return T(data.shape, str(data.dtype), data=data, **numbers)


@dataclass(frozen=True)
class Op:
    """An operator on tensors by index; options by the names of the schema, ``table`` theirs."""

    kind: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    table: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def one_operator(
    kind: str,
    inputs: Sequence[T],
    outputs: Sequence[T],
    table: str | None = None,
    **options: Any,
) -> bytes:
    """A network of one operator, whose inputs without data are the network's."""
    tensors = [*inputs, *outputs]
    made = list(range(len(inputs), len(tensors)))
    op = Op(kind, list(range(len(inputs))), made, table, options)
    return model(tensors, [op], [i for i, t in enumerate(inputs) if t.data is None], made)


def model(
    tensors: Sequence[T], operators: Sequence[Op], inputs: Sequence[int], outputs: Sequence[int]
) -> bytes:
    """A file of these tensors and operators."""
    b = flatbuffers.Builder(1024)
    buffers = [table(b, "Buffer")]
    written = []
    for index, tensor in enumerate(tensors):
        number = 0
        if tensor.data is not None:
            raw = np.frombuffer(np.ascontiguousarray(tensor.data).tobytes(), np.uint8)
            buffers.append(table(b, "Buffer", Data=b.CreateNumpyVector(raw)))
            number = len(buffers) - 1
        entries: dict[str, Any] = {}
        if tensor.scale is not None:
            scales = np.atleast_1d(np.array(tensor.scale, np.float32))
            entries["Quantization"] = table(
                b,
                "QuantizationParameters",
                Scale=b.CreateNumpyVector(scales),
                ZeroPoint=b.CreateNumpyVector(np.full(scales.size, tensor.zero_point, np.int64)),
                QuantizedDimension=tensor.axis,
            )
        if tensor.signature is not None:
            entries["ShapeSignature"] = b.CreateNumpyVector(np.array(tensor.signature, np.int32))
        written.append(
            table(
                b,
                "Tensor",
                Shape=b.CreateNumpyVector(np.array(tensor.shape, np.int32)),
                Type=TYPES[tensor.dtype],
                Buffer=number,
                Name=b.CreateString(tensor.name or f"tensor/{index}"),
                **entries,
            )
        )
    kinds = sorted({op.kind for op in operators})
    codes = []
    for kind in kinds:
        if kind.startswith("custom "):
            text = b.CreateString(kind.removeprefix("custom "))
            code = tflite.BuiltinOperator.CUSTOM
            entry = {"CustomCode": text}
        else:
            code, entry = getattr(tflite.BuiltinOperator, kind), {}
        codes.append(
            table(
                b,
                "OperatorCode",
                BuiltinCode=code,
                DeprecatedBuiltinCode=min(code, 127),
                Version=FIRST_VERSIONS.get(kind, 1),
                **entry,
            )
        )
    ops = []
    for op in operators:
        entries = {}
        if op.table is not None:
            values = {
                name: b.CreateNumpyVector(np.array(value, np.int32))
                if isinstance(value, list)
                else value
                for name, value in op.options.items()
            }
            entries["BuiltinOptions"] = table(b, op.table, **values)
            entries["BuiltinOptionsType"] = getattr(tflite.BuiltinOptions, op.table)
        ops.append(
            table(
                b,
                "Operator",
                OpcodeIndex=kinds.index(op.kind),
                Inputs=b.CreateNumpyVector(np.array(op.inputs, np.int32)),
                Outputs=b.CreateNumpyVector(np.array(op.outputs, np.int32)),
                **entries,
            )
        )
    return finished(
        b,
        tensors=written,
        operators=ops,
        codes=codes,
        buffers=buffers,
        inputs=inputs,
        outputs=outputs,
    )


def imported(content: bytes, folder: Path, **shapes: tuple[int, ...]) -> Imported:
    """What is read of a file of these bytes."""
    path = folder / "net.tflite"
    path.write_bytes(content)
    return load(path, shapes)


def numbers(random: np.random.Generator, dtype: str = "int8") -> dict[str, Any]:
    """A type of 8 bits with any scale and zero point; with plain scales results often lie halfway
    between two integers."""
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    scale = random.choice([0.01, 0.02, 0.05, 0.1, 0.5, 2.0 ** random.uniform(-9, 1)])
    scale = float(np.float32(scale))
    return {"dtype": dtype, "scale": scale, "zero_point": int(random.integers(least, most + 1))}


def interpreter(content: bytes) -> Any:
    """TFLite's reference kernels, all tensors kept."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    made = Interpreter(
        model_content=content,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    made.allocate_tensors()
    return made


def reference(content: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of TFLite's reference kernels."""
    made = interpreter(content)
    for detail, value in zip(made.get_input_details(), inputs, strict=True):
        made.set_tensor(detail["index"], value)
    made.invoke()
    return [made.get_tensor(detail["index"]) for detail in made.get_output_details()]


def on_host(network: Imported, *inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of an import on the host."""
    return run_host(build_host(network.mod), *inputs)


def random_inputs(network: Imported, seed: int = 0) -> list[np.ndarray]:
    """Values over the whole range of each input."""
    random = np.random.default_rng(seed)
    made = []
    for info in network.inputs:
        dtype = np.dtype(info.dtype)
        if dtype.kind == "f":
            made.append(random.normal(0, 3, info.shape).astype(dtype))
        else:
            least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
            made.append(random.integers(least, most, info.shape, dtype, endpoint=True))
    return made


def compare(content: bytes, folder: Path, tolerance: float = 0.0) -> list[np.ndarray]:
    """Require the import to be the reference, element for element; gives the outputs.

    tolerance : relative and absolute, of floats.
    """
    network = imported(content, folder)
    inputs = random_inputs(network)
    wanted = reference(content, *inputs)
    found = on_host(network, *inputs)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        if tolerance and one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(one, other)
    return found


def compare_table(content: bytes, folder: Path) -> None:
    """Require the one operation that is imported to be the reference for each of the 256 numbers,
    as NumPy evaluates it: much faster than :func:`compare`."""
    network = imported(content, folder)
    (info,) = network.inputs
    dtype = np.iinfo(info.dtype)
    values = np.arange(dtype.min, dtype.max + 1).astype(info.dtype).reshape(info.shape)
    (wanted,) = reference(content, values)
    graph = Graph(network.mod)
    operations = [operation_of(network.mod, graph.value[var]) for var in graph.order]
    ((operation, _),) = [found for found in operations if found is not None]
    inside = values if info.dtype == "int8" else (values.astype(np.int16) - 128).astype(np.int8)
    offset = 0 if info.dtype == "int8" else 128
    found = operation.evaluate(inside).astype(np.int16) + offset
    np.testing.assert_array_equal(found, wanted)
