"""Networks whose caller gives integers: what the host would quantize at first is left to who has
the data, which often are bytes to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import tvm
from tvm.ir import IRModule

from .calls import Call, Calls, Place, Value, is_device
from .errors import ExportError
from .host_functions import host_function, shared


def quantizing_calls(calls: Calls) -> dict[int, Call]:
    """The call that makes integers of each input, by the input's number.

    Raises
    ------
    ExportError
        for an input that something else reads, or that is not quantized by a call of its own.
    """
    found = {}
    for number, tensor in enumerate(calls.inputs):
        value = Value(Place.INPUT, number)
        readers = [call for call in calls.calls if value in call.arguments]
        if len(readers) != 1 or not _quantizes(calls, readers[0]):
            raise ExportError(
                f"input {tensor.name} cannot be integers: it is not first quantized by the host, "
                "for that alone; leave out --input-type integer"
            )
        found[number] = readers[0]
    return found


def _quantizes(calls: Calls, call: Call) -> bool:
    if call.function is None or is_device(calls.functions[call.function]):
        return False
    if len(call.arguments) != 2 or call.arguments[1].place is not Place.ARENA:
        return False
    made = calls.arena[call.arguments[1].number]
    return np.issubdtype(np.dtype(made.dtype), np.integer)


def with_integer_inputs(calls: Calls) -> Calls:
    """The calls without those that quantize inputs: what these made are the inputs.

    Raises as `quantizing_calls`.
    """
    removed = quantizing_calls(calls)
    moved = {call.arguments[1]: Value(Place.INPUT, number) for number, call in removed.items()}
    left = [
        replace(call, arguments=tuple(moved.get(value, value) for value in call.arguments))
        for call in calls.calls
        if call not in removed.values()
    ]
    inputs = [
        replace(calls.arena[removed[number].arguments[1].number], name=tensor.name)
        for number, tensor in enumerate(calls.inputs)
    ]
    called = {call.function for call in left}
    functions = {name: func for name, func in calls.functions.items() if name in called}
    return replace(calls, inputs=inputs, calls=left, functions=functions)


def quantized_inputs(calls: Calls, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What the host makes of inputs that are no integers yet."""
    made = []
    for number, call in quantizing_calls(calls).items():
        assert call.function is not None
        tensor = calls.arena[call.arguments[1].number]
        output = tvm.runtime.empty(tensor.shape, tensor.dtype)
        func = calls.functions[call.function].with_attr("global_symbol", "quantize")
        library = tvm.compile(IRModule({"quantize": func}), target="llvm")
        library["quantize"](tvm.runtime.tensor(inputs[number]), output)
        made.append(output.numpy())
    return made


def quantizer_texts(calls: Calls) -> tuple[str, ...]:
    """The host's functions that make integers of inputs, as C."""
    texts = []
    for call in quantizing_calls(calls).values():
        assert call.function is not None
        function = host_function(call.function, calls.functions[call.function])
        texts.append(shared([function])[call.function].text)
    return tuple(texts)
