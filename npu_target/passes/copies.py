"""Copies: a nest of loops around one store, recognised as what a device's engines can do.

A nest that writes a tile becomes a :class:`Load` (plain, scaled, accumulating, or of one value);
one that writes DRAM becomes a :class:`Store` (raw, requantized, or pooled).  Boundaries
stay conditions here; :mod:`npu_target.passes.transfers` turns them into row and column counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import tvm_ffi
from tvm import ir, tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore, Var

from ..device import DeviceConfig, Memory, kind_of
from ..device.block_scales import BlockScale
from .errors import CodegenError
from .linear import Linear, all_linear, comparisons, linear, undivided
from .named import text_of

# Resolves a tile access to (row, column) forms.
LocalAccess = Callable[[tirx.Buffer, list[Linear]], "tuple[Linear, Linear]"]


class Stack(NamedTuple):
    """Columns that one row of DRAM has in a tile's row, and in how many rows of the tile before it
    they are put as well, each time further to the right: ``lines`` with its own."""

    columns: int
    lines: int


class Load(NamedTuple):
    """A copy of ``source[offset]`` (elements) into a tile, or of ``fill`` without a source."""

    row: Linear
    column: Linear
    memory: Memory
    source: str | None
    offset: Linear
    element_bytes: int
    valid: tuple[Linear, ...]  # all >= 0 where the source is read; elsewhere fill is written
    accumulate: bool = False
    shrunk: bool = False  # of the type of inputs in DRAM, of sums in the tile
    scale: float = 1.0
    stack: Stack | None = None
    fill: int = 0  # other than 0 only for elements of inputs, not scaled

    def filled(self) -> Load:
        """The load of ``fill`` to all that this one writes."""
        return self._replace(source=None, offset=Linear(), valid=())

    def at(self, values: Mapping[int, Linear]) -> Load:
        """The copy where loops have these values."""
        return Load(
            self.row.substitute(values),
            self.column.substitute(values),
            self.memory,
            self.source,
            self.offset.substitute(values),
            self.element_bytes,
            tuple([undivided(form.substitute(values)) for form in self.valid]),
            self.accumulate,
            self.shrunk,
            self.scale,
            self.stack,
            self.fill,
        )


class Pooling(NamedTuple):
    """Maximum over ``size`` x ``size`` rows; ``line_rows`` is an image line's length in rows."""

    size: int
    line_rows: int


class Store(NamedTuple):
    """A copy of a tile into ``target[offset]`` (elements) where ``valid`` are all >= 0.

    ``scales`` are those of the blocks of channels, of which it stores number ``block``; or a single
    one for all.
    """

    row: Linear
    column: Linear
    memory: Memory
    target: str
    offset: Linear
    element_bytes: int
    valid: tuple[Linear, ...]
    scales: tuple[float, ...] = (1.0,)
    block: Linear = Linear()
    relu: bool = False
    full_width: bool = False
    pooling: Pooling | None = None

    @property
    def scale(self) -> float:
        """That of all channels.  Raises CodegenError where each block has its own."""
        if len(self.scales) > 1:
            raise CodegenError("a store by the scales of blocks: the device has one for all")
        return self.scales[0]

    def at(self, values: Mapping[int, Linear]) -> Store:
        """The copy where loops have these values."""
        return self._replace(
            block=self.block.substitute(values),
            row=self.row.substitute(values),
            column=self.column.substitute(values),
            offset=self.offset.substitute(values),
            valid=tuple([undivided(form.substitute(values)) for form in self.valid]),
        )


def recognise(
    store: BufferStore,
    guards: list[tirx.Expr],
    env: Mapping[Var, Linear],
    local: LocalAccess,
    config: DeviceConfig,
) -> Load | Store:
    """What one innermost store does, in terms of the loops in ``env``.

    Raises
    ------
    CodegenError
        with the statement, where no command does it.
    """
    try:
        valid = [form for guard in guards for form in comparisons(guard, env)]
        memory = config.memories.find(store.buffer.scope())
        if memory is not None:
            return _load(store, valid, env, local, memory, config)
        return _store(store, valid, env, local, config)
    except CodegenError as error:
        raise CodegenError(f"no command computes `{text_of(store)}`: {error}", store) from error


def _load(
    store: BufferStore,
    valid: list[Linear],
    env: Mapping[Var, Linear],
    local: LocalAccess,
    memory: Memory,
    config: DeviceConfig,
) -> Load:
    memories = config.memories
    if valid:
        raise CodegenError(
            "a tile is written under a condition; give it a value of 0 where that does not hold "
            "(`if_then_else`), or loops that divide its extents"
        )
    indices = all_linear(store.indices, env)
    row, column = local(store.buffer, indices)
    value, accumulate = without_self(store)
    fill = 0
    if is_call(value, "prim.if_then_else"):
        condition, value, otherwise = value.args
        if not isinstance(otherwise, tirx.IntImm):
            raise CodegenError("padding must be a number, and a choice of arguments one loop's")
        valid, fill = comparisons(condition, env), int(otherwise.value)
    if isinstance(value, tirx.IntImm):
        fill = int(value.value)
        shrunk = fill != 0 and memory == memories.sums
        load = Load(row, column, memory, None, Linear(), 1, (), accumulate, shrunk, fill=fill)
        return _checked_fill(load, config)
    scale, shrunk = 1.0, False
    if memory == memories.sums and isinstance(value, tirx.Cast):
        value, shrunk = value.value, True
    scaled = kind_of(config).numbers.rule.match(value)
    if scaled is not None:
        if scaled.relu:
            raise CodegenError("a load has no activation")
        value = scaled.value
        if isinstance(scaled.scale, BlockScale):
            raise CodegenError("a load has one scale")
        scale = scaled.scale
    if not isinstance(value, TensorLoad) or value.source.scope() in memories.scopes:
        raise CodegenError(
            "the value is not read from a kernel argument: a load copies elements of one; what "
            "computes has to be done by an intrinsic of the device (`tensorize`)"
        )
    wanted = memories.inputs.dtype if shrunk else memory.dtype
    if str(value.source.dtype) != wanted:
        raise CodegenError(f"the value read is {value.source.dtype}, needs {wanted}")
    load = Load(
        row,
        column,
        memory,
        value.source.name,
        _offset(value, env),
        np.dtype(wanted).itemsize,
        tuple(valid),
        accumulate,
        shrunk,
        scale,
        fill=fill,
    )
    return _checked_fill(load, config)


def _checked_fill(load: Load, config: DeviceConfig) -> Load:
    """The load. Raises CodegenError where no device, or not this one, writes what it fills with."""
    if load.fill == 0:
        return load
    elements = np.iinfo(config.memories.inputs.dtype)
    if load.element_bytes != elements.dtype.itemsize or not (
        elements.min <= load.fill <= elements.max
    ):
        raise CodegenError(f"padding by {load.fill} is for elements of inputs only, as one of them")
    if load.accumulate or load.scale != 1.0:
        raise CodegenError(f"padding by {load.fill} of what is scaled or added to the tile")
    if not kind_of(config).features(config).fills_borders:
        raise CodegenError(f"loads of {config.name} write 0 as padding, not {load.fill}")
    return load


def _store(
    store: BufferStore,
    valid: list[Linear],
    env: Mapping[Var, Linear],
    local: LocalAccess,
    config: DeviceConfig,
) -> Store:
    memories, value = config.memories, store.value
    scales: tuple[float, ...] = (1.0,)
    block, relu, pooling = Linear(), False, None
    requantized = kind_of(config).numbers.rule.match(value)
    if requantized is not None:
        value, scale, relu = requantized
        if not isinstance(scale, BlockScale):
            scales = (scale,)
        elif len(set(scale.scales)) == 1:
            scales = scale.scales[:1]
        else:
            scales, block = scale.scales, linear(scale.block, env)
        if isinstance(value, tirx.Max):
            value, pooling = _window(value, env, local)
    if not isinstance(value, TensorLoad):
        raise CodegenError(
            "the value is not read from a tile: keep it in the device's memories (`cache_read`, "
            "`cache_write`, `set_scope`)"
        )
    memory, sums = memories.find(value.source.scope()), memories.sums
    if memory is None or (memory != sums and requantized is not None):
        raise CodegenError(
            f"the value is not read from the {sums.title}: what is stored otherwise than as it is "
            f"has to be in scope {sums.scope!r}"
        )
    row, column = local(value.source, all_linear(value.indices, env))
    full_width = memory == sums and requantized is None and pooling is None
    element = str(store.buffer.dtype)
    if element != (sums if full_width else memories.inputs).dtype:
        wanted = (sums if full_width else memories.inputs).dtype
        raise CodegenError(
            f"the result is {element}, needs {wanted}: "
            + (
                "sums are stored as they are, or requantized"
                if full_width
                else "what is stored from a tile of inputs, or requantized, is of that type"
            )
        )
    return Store(
        row,
        column,
        memory,
        store.buffer.name,
        _offset(store, env),
        np.dtype(element).itemsize,
        tuple(valid),
        scales,
        block,
        relu,
        full_width,
        pooling,
    )


def _window(
    value: tirx.Expr, env: Mapping[Var, Linear], local: LocalAccess
) -> tuple[TensorLoad, Pooling]:
    """The first element and the shape of a square window under nested maxima."""
    loads: list[TensorLoad] = []

    def collect(node: tirx.Expr) -> None:
        if isinstance(node, tirx.Max):
            collect(node.a)
            collect(node.b)
        elif isinstance(node, TensorLoad):
            loads.append(node)
        else:
            raise CodegenError("a maximum of something else than a tile's elements")

    collect(value)
    size = round(len(loads) ** 0.5)
    rows = [local(load.source, all_linear(load.indices, env)) for load in loads]
    (row, column), shifts = rows[0], []
    for other_row, other_column in rows:
        shift = other_row - row
        if not shift.is_const or other_column != column:
            raise CodegenError("a maximum over elements that are no window")
        shifts.append(shift.const)
    line_rows = shifts[size] if size < len(shifts) else 0
    if shifts != [i * line_rows + j for i in range(size) for j in range(size)]:
        raise CodegenError("a maximum over elements that are no square window")
    return loads[0], Pooling(size, line_rows)


def without_self(store: BufferStore) -> tuple[tirx.Expr, bool]:
    """``x`` and True for a store ``t[i] = t[i] + x``; otherwise the value and False."""
    value = store.value
    if isinstance(value, tirx.Add):
        for mine, other in ((value.a, value.b), (value.b, value.a)):
            if (
                isinstance(mine, TensorLoad)
                and mine.source.same_as(store.buffer)
                and tvm_ffi.structural_equal(list(mine.indices), list(store.indices))
            ):
                return other, True
    return value, False


def _offset(access: TensorLoad | BufferStore, env: Mapping[Var, Linear]) -> Linear:
    """The element number of a DRAM access; arguments are dense and row-major."""
    buffer = access.source if isinstance(access, TensorLoad) else access.buffer
    total = Linear()
    for extent, form in zip(buffer.shape[:], all_linear(access.indices, env), strict=True):
        total = total * int(extent) + form
    return total


def is_call(node: tirx.Expr, name: str) -> bool:
    return isinstance(node, ir.Call) and getattr(node.op, "name", None) == name


def is_zero(node: tirx.Expr) -> bool:
    return isinstance(node, tirx.IntImm) and int(node.value) == 0
