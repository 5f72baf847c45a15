"""From the records of a file to a Relax function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ...integer import Quantization
from ...relax_graph import dtype_of, shape_of
from ..errors import FrontendError
from ..imported import Imported, TensorInfo
from . import operators  # noqa: F401  (registers the converters)
from .converters import converter_of, known_kinds
from .file import DTYPES, Network, Record, Tensor, read_file
from .operation import UINT8_OFFSET, Converter, Operation, Values, file_quantization, is_quantized

_LONGEST_NAME = 60


def read(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> Imported:
    """The network in a ``.tflite`` file.

    shapes : of inputs by name, for those that the file leaves open.

    Raises
    ------
    FrontendError
        for a file that is no network, or one that cannot be imported.
    """
    return _Reader(read_file(path), shapes).imported()


class _Reader:
    def __init__(self, network: Network, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._network = network
        self._given = shapes
        self._values = Values(relax.BlockBuilder(), network)
        self._values.constants.update(
            {tensor.index: tensor.data for tensor in network.tensors if tensor.data is not None}
        )
        self._quantizations: dict[str, Quantization] = {}
        self._origins: dict[str, str] = {}
        self._has_integers = False

    def imported(self) -> Imported:
        tensors = self._network.tensors
        inputs = [tensors[index] for index in self._network.inputs]
        outputs = [tensors[index] for index in self._network.outputs]
        shapes = self._input_shapes(inputs)
        mod, results = self._module(inputs, outputs, shapes)
        return Imported(
            name=self._network.path.stem,
            mod=mod,
            integer=self._has_integers,
            inputs=tuple(map(self._info, inputs, shapes)),
            outputs=tuple(map(self._info, outputs, map(shape_of, results))),
            quantizations=self._quantizations,
            origins=self._origins,
        )

    def _error(self, message: str) -> FrontendError:
        return FrontendError(f"{self._network.path}: {message}")

    def _info(self, tensor: Tensor, shape: tuple[int, ...]) -> TensorInfo:
        return TensorInfo(tensor.name, shape, tensor.dtype, self._quantization(tensor))

    def _quantization(self, tensor: Tensor) -> Quantization | None:
        try:
            return file_quantization(tensor) if is_quantized(tensor) else None
        except ValueError as error:
            raise self._error(f"tensor {tensor.index} ({tensor.name}): {error}") from error

    def _input_shapes(self, inputs: Sequence[Tensor]) -> list[tuple[int, ...]]:
        """The file's shapes, in which those that were given take the place of open extents."""
        names = [tensor.name for tensor in inputs]
        if len(set(names)) < len(names):
            raise self._error(f"inputs share a name: {', '.join(names)}")
        for name in self._given:
            if name not in names:
                raise self._error(f"no input is called {name!r}; there are: {', '.join(names)}")
        shapes = []
        for tensor in inputs:
            if tensor.dtype not in DTYPES.values():
                raise self._error(f"input {tensor.name!r} is {tensor.dtype}")
            shape = self._given.get(tensor.name, tensor.shape)
            fits = len(shape) == len(tensor.shape) and all(
                extent == fixed or open_extent == -1
                for extent, fixed, open_extent in zip(
                    shape, tensor.shape, tensor.signature, strict=False
                )
            )
            if not fits:
                raise self._error(
                    f"input {tensor.name!r} is of shape {tensor.signature} (-1: open), "
                    f"{tuple(shape)} was given"
                )
            if min(shape, default=1) < 1:
                example = ",".join(str(max(extent, 1)) for extent in shape)
                raise self._error(
                    f"input {tensor.name!r} is of open shape {tensor.signature}; say which it is: "
                    f"--shape {tensor.name}={example}"
                )
            shapes.append(tuple(int(extent) for extent in shape))
        return shapes

    def _module(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], shapes: Sequence[tuple[int, ...]]
    ) -> tuple[IRModule, list[relax.Expr]]:
        builder = self._values.builder
        params = [
            relax.Var(_identifier(tensor.name), relax.TensorType(shape, tensor.dtype))
            for tensor, shape in zip(inputs, shapes, strict=True)
        ]
        failure: FrontendError | None = None
        with builder.function("main", params):
            with builder.dataflow():
                try:
                    results = self._results(inputs, params, outputs)
                except FrontendError as error:
                    # Raised behind the function's end: TVM complains of one that stays open.
                    failure, results = error, []
                result = results[0] if len(results) == 1 else relax.Tuple(results)
                bound = builder.emit_output(result)
            builder.emit_func_output(bound)
        if failure is not None:
            raise failure
        return builder.get(), results

    def _results(
        self, inputs: Sequence[Tensor], params: Sequence[relax.Var], outputs: Sequence[Tensor]
    ) -> list[relax.Expr]:
        for tensor, param in zip(inputs, params, strict=True):
            self._bind_input(tensor, param)
        for record in self._network.operators:
            self._convert(record)
        return [self._as_in_file(tensor) for tensor in outputs]

    def _bind_input(self, tensor: Tensor, param: relax.Var) -> None:
        value: relax.Expr = param
        if is_quantized(tensor) and tensor.dtype == "uint8":
            wide = relax.op.astype(param, "int16")
            shifted = relax.op.subtract(wide, relax.const(np.int16(UINT8_OFFSET)))
            value = self._values.builder.emit(
                relax.op.astype(
                    self._values.builder.emit(shifted, f"{param.name}_shifted"), "int8"
                ),
                f"{param.name}_int8",
            )
        self._keep(tensor, value)

    def _as_in_file(self, tensor: Tensor) -> relax.Expr:
        """A result with the file's own type."""
        builder = self._values.builder
        value = self._values.expressions.get(tensor.index)
        if value is None:
            if tensor.index not in self._values.constants:
                raise self._error(f"output {tensor.name!r} is computed by no operator")
            data = self._values.constants[tensor.index]
            return builder.emit(relax.const(np.asarray(data, order="C"), str(data.dtype)))
        if not (is_quantized(tensor) and tensor.dtype == "uint8"):
            return value
        wide = builder.emit(relax.op.astype(value, "int16"), f"{value.name}_int16")
        shifted = builder.emit(
            relax.op.add(wide, relax.const(np.int16(UINT8_OFFSET))), f"{value.name}_shifted"
        )
        return builder.emit(relax.op.astype(shifted, "uint8"), f"{value.name}_uint8")

    def _convert(self, record: Record) -> None:
        made = [index for index in record.outputs if index >= 0]
        tensors = self._network.tensors
        name = _identifier(tensors[made[0]].name) if made else record.kind
        operation = Operation(record, self._values, name)
        for index in made:
            if index in self._values.expressions or index in self._values.constants:
                raise operation.refusal(f"{tensors[index].name!r} is there already")
        converter = converter_of(record.kind)
        if converter is None:
            raise operation.refusal(
                "this kind of operator cannot be imported. Convert the network up to it and "
                "compute the rest outside, or write it with others: " + ", ".join(known_kinds())
            )
        try:
            # What scales far apart make infinite is refused, or outside of int8 as it should be.
            with np.errstate(all="ignore"):
                bound = self._bound(operation, converter)
        except FrontendError:
            raise
        # What Relax and operations of integers say of their numbers.
        except ValueError as error:
            raise operation.unfit(error) from error
        for tensor, value in zip(operation.outputs, bound, strict=False):
            self._check(operation, tensor, value)
            self._keep(tensor, value)

    def _bound(self, operation: Operation, converter: Converter) -> list[relax.Var]:
        """The variables of its results; none where they are constants."""
        results = converter(operation)
        if results is None:
            return []
        if isinstance(results, relax.Expr):
            results = [results]
        if len(results) != len(operation.outputs):
            raise operation.refusal(f"it has {len(operation.outputs)} results")
        return [
            result
            if isinstance(result, relax.Var)
            else operation.bind(result, _identifier(tensor.name))
            for tensor, result in zip(operation.outputs, results, strict=True)
        ]

    def _check(self, operation: Operation, tensor: Tensor, value: relax.Var) -> None:
        """The file says what it should be; what it leaves open or was given anew it does not."""
        shape = shape_of(value)
        dtype = "int8" if is_quantized(tensor) else tensor.dtype
        if dtype_of(value) != dtype:
            raise operation.refusal(f"{tensor.name!r} is {dtype_of(value)}, the file says {dtype}")
        if self._given or (not tensor.shape and -1 in tensor.signature):
            return
        claimed = [
            extent if fixed != -1 else -1
            for extent, fixed in zip(tensor.shape, tensor.signature, strict=False)
        ]
        open_extents = -1 in claimed or min(claimed, default=1) < 1
        if open_extents and len(claimed) != len(shape):
            return
        if len(shape) != len(claimed) or any(
            extent not in (found, -1, 0) for extent, found in zip(claimed, shape, strict=True)
        ):
            raise operation.refusal(
                f"{tensor.name!r} is of shape {shape}, the file says {tensor.shape}"
            )

    def _keep(self, tensor: Tensor, value: relax.Var) -> None:
        self._values.expressions[tensor.index] = value
        self._origins.setdefault(value.name, tensor.name)
        quantization = self._quantization(tensor)
        if quantization is None:
            return
        self._has_integers = True
        offset = UINT8_OFFSET if tensor.dtype == "uint8" else 0
        zero_points = tuple(zero_point - offset for zero_point in quantization.zero_point)
        self._quantizations.setdefault(
            value.name, Quantization(quantization.scale, zero_points, quantization.axis)
        )


def _identifier(name: str) -> str:
    """A tensor's name as that of a variable: the first of those that the converter has fused."""
    first = name.split(";", 1)[0]
    plain = re.sub(r"\W+", "_", first, flags=re.ASCII).strip("_")[-_LONGEST_NAME:].strip("_")
    return f"t_{plain}" if not plain or plain[0].isdigit() else plain
