"""A network with everything placed: what the files of an export are printed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..codegen_tir import build_program
from ..device import DeviceConfig
from ..device_api import host_cost
from ..pack_constants import scheduled
from ..program import Program
from .arena import LINE_BYTES, Lifetime, Plan, lines, plan
from .c_text import Names
from .calls import Call, Calls, Place, Tensor, Value, is_device
from .errors import ExportError
from .host_functions import HostFunction, SharedFunction, host_function, shared
from .kernels import SharedKernel, shared_kernels
from .scales import NO_SCALES, Scales


@dataclass(frozen=True)
class Layer:
    """A call. `arguments` end with the workspaces of a host function, or the constants of a
    program's own; `program` is a kernel's, `host` a host function; a copy has neither."""

    name: str
    arguments: tuple[Value, ...]
    program: Program | None = None
    host: HostFunction | None = None

    @cached_property
    def instructions(self) -> int | None:
        """What the host's core runs for it: of a kernel what the simulator charges, of a host
        function about so many; None for a copy."""
        if self.program is not None:
            return host_cost(self.program.to_bytes()).instructions
        return self.host.instructions if self.host is not None else None


@dataclass(frozen=True)
class PlacedNetwork:
    """`arena` : the tensors that share memory, whose places are `plan`. `kernels`, `functions` :
    of C, by the names of programs and of host functions. `line_bytes` : what the places of tensors
    are multiples of. `quantizers` : in C, what was to make integers of each input where the caller
    does that. `scales` : what integers at the ends are worth."""

    model: str
    config: DeviceConfig
    calls: Calls
    layers: tuple[Layer, ...]
    arena: tuple[Tensor, ...]
    plan: Plan
    kernels: dict[str, SharedKernel]
    functions: dict[str, SharedFunction]
    line_bytes: int
    quantizers: tuple[str, ...] = ()
    scales: Scales = NO_SCALES

    @cached_property
    def weight_offsets(self) -> tuple[int, ...]:
        """Of each constant in `weights.bin`."""
        return _beside([array.nbytes for array in self.calls.constants], self.line_bytes)

    def offset(self, value: Value) -> int:
        """Of a tensor in its place, bytes."""
        if value.place is Place.ARENA:
            return self.plan.offsets[value.number]
        if value.place is Place.CONSTANT:
            return self.weight_offsets[value.number]
        tensors = self.calls.inputs if value.place is Place.INPUT else self.calls.outputs
        return _beside([tensor.nbytes for tensor in tensors], self.line_bytes)[value.number]

    def tensor(self, value: Value) -> Tensor:
        """Which one it is."""
        if value.place is Place.CONSTANT:
            array = self.calls.constants[value.number]
            return Tensor(f"weights{value.number}", str(array.dtype), array.shape)
        tensors: dict[Place, Sequence[Tensor]] = {
            Place.ARENA: self.arena,
            Place.INPUT: self.calls.inputs,
            Place.OUTPUT: self.calls.outputs,
        }
        return tensors[value.place][value.number]

    @property
    def arena_bytes(self) -> int:
        return self.plan.nbytes

    @property
    def weights_bytes(self) -> int:
        return sum(lines(array.nbytes, self.line_bytes) for array in self.calls.constants)

    def check_memory(self, nbytes: int) -> None:
        """Raise ExportError unless the network's data fits in so many bytes."""
        tensors = (*self.calls.inputs, *self.calls.outputs)
        ends = sum(lines(tensor.nbytes, self.line_bytes) for tensor in tensors)
        needed = self.arena_bytes + self.weights_bytes + ends
        if needed > nbytes:
            raise ExportError(
                f"{self.model} needs {needed:,} bytes of memory, {needed - nbytes:,} more than the "
                f"{nbytes:,} that there are: {self.weights_bytes:,} for weights, "
                f"{self.arena_bytes:,} for tensors between layers, {ends:,} for inputs and outputs"
            )


def place(model: str, config: DeviceConfig, calls: Calls) -> PlacedNetwork:
    """Compile a network's functions and give each tensor its place.

    Raises
    ------
    ExportError
        for a host function that has no C here.
    CodegenError
        for a kernel that the device does not perform.
    """
    programs: dict[str, Program] = {}
    hosts: dict[str, HostFunction] = {}
    for name, func in calls.functions.items():
        if is_device(func):
            programs[name] = build_program(scheduled(func), config, name)
        else:
            hosts[name] = host_function(name, func)
    arena = list(calls.arena)
    layers = []
    names = Names()
    functions = shared(list(hosts.values()))
    calls, own = _with_own_constants(calls, programs)
    for call in calls.calls:
        if call.function in own:
            call = replace(call, arguments=(*call.arguments, *own[call.function]))
        layers.append(_layer(call, programs, hosts, functions, arena, names))
    kept, layers = _without_unused(arena, layers)
    alignments = [bytes_ for program in programs.values() for bytes_ in program.alignments]
    line_bytes = max([LINE_BYTES, *alignments])
    offsets = plan(_lifetimes(kept, layers, line_bytes))
    kernels = shared_kernels(list(programs.values()))
    return PlacedNetwork(
        model, config, calls, tuple(layers), tuple(kept), offsets, kernels, functions, line_bytes
    )


def _with_own_constants(
    calls: Calls, programs: Mapping[str, Program]
) -> tuple[Calls, dict[str | None, list[Value]]]:
    """With the constants of programs among the network's, equal ones once; and which those of each
    program are."""
    constants = list(calls.constants)
    numbers: dict[bytes, int] = {}
    own: dict[str | None, list[Value]] = {}
    for name, program in programs.items():
        for constant in program.constants:
            number = numbers.setdefault(constant.data, len(constants))
            if number == len(constants):
                constants.append(np.frombuffer(constant.data, "uint8"))
            own.setdefault(name, []).append(Value(Place.CONSTANT, number))
    return replace(calls, constants=constants), own


def _layer(
    call: Call,
    programs: dict[str, Program],
    hosts: dict[str, HostFunction],
    functions: dict[str, SharedFunction],
    arena: list[Tensor],
    names: Names,
) -> Layer:
    if call.function is None:
        return Layer(names.fresh("copy"), call.arguments)
    if call.function in programs:
        return Layer(names.fresh(call.function), call.arguments, programs[call.function])
    host = hosts[call.function]
    workspaces = []
    for array in host.workspaces:
        workspaces.append(Value(Place.ARENA, len(arena)))
        elements = array.nbytes // _item_bytes(array.dtype)
        arena.append(Tensor(array.name, array.dtype, (elements,)))
    name = names.fresh(functions[host.name].name)
    return Layer(name, (*call.arguments, *workspaces), host=host)


def _item_bytes(dtype: str) -> int:
    return Tensor("", dtype, ()).nbytes


def _beside(sizes: list[int], line_bytes: int) -> tuple[int, ...]:
    """Offsets of arrays that lie beside each other, whole lines each."""
    offsets, end = [], 0
    for nbytes in sizes:
        offsets.append(end)
        end += lines(nbytes, line_bytes)
    return tuple(offsets)


def _without_unused(arena: list[Tensor], layers: list[Layer]) -> tuple[list[Tensor], list[Layer]]:
    """Without the tensors that no call has."""
    used = sorted({v.number for layer in layers for v in layer.arguments if v.place is Place.ARENA})
    numbers = {old: new for new, old in enumerate(used)}

    def renumbered(value: Value) -> Value:
        return Value(value.place, numbers[value.number]) if value.place is Place.ARENA else value

    return [arena[index] for index in used], [
        replace(layer, arguments=tuple(map(renumbered, layer.arguments))) for layer in layers
    ]


def _lifetimes(arena: Sequence[Tensor], layers: Sequence[Layer], line_bytes: int) -> list[Lifetime]:
    calls: list[list[int]] = [[] for _ in arena]
    for index, layer in enumerate(layers):
        for value in layer.arguments:
            if value.place is Place.ARENA:
                calls[value.number].append(index)
    return [
        Lifetime(lines(tensor.nbytes, line_bytes), min(users), max(users))
        for tensor, users in zip(arena, calls, strict=True)
    ]
