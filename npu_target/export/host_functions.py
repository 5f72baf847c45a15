"""Host functions as C: plain loops that compute what the build's do, to the last bit where no
function of the C library is in between."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import tvm_ffi
from tvm import ir, tirx

from .c_text import Names, c_type, float_text, identifier
from .errors import ExportError
from .expressions import Expressions
from .host_instructions import host_instructions
from .host_loops import plain_loops

# Arrays of a function's own up to so many bytes are its variables, larger ones lie in the arena.
MOST_LOCAL_BYTES = 64
_NUMBER = re.compile("\0(\\d+)\0")


@dataclass(frozen=True)
class Array:
    """A flat array that a function is given."""

    name: str
    dtype: str
    nbytes: int
    is_written: bool


@dataclass(frozen=True)
class HostFunction:
    """What differs between equal functions are constants: `numbers`, which `body` refers to.

    `arrays` are the parameters in the order of the calls, `workspaces` what comes after them.
    `instructions` : about how many one call runs on a RISC-V core.
    """

    name: str
    arrays: tuple[Array, ...]
    workspaces: tuple[Array, ...]
    body: tuple[str, ...]
    numbers: tuple[str, ...]
    number_types: tuple[str, ...]
    instructions: int


@dataclass(frozen=True)
class SharedFunction:
    """A function of C, for all host functions that differ in these `varying` numbers alone: the
    places of each, which have equal numbers in every function."""

    name: str
    first: HostFunction
    varying: tuple[tuple[int, ...], ...]

    @property
    def parameters(self) -> str:
        """As C declares them."""
        arrays = [
            f"{'' if array.is_written else 'const '}{c_type(array.dtype, self.name)} "
            f"*restrict {array.name}"
            for array in (*self.first.arrays, *self.first.workspaces)
        ]
        types = [c_type(self.first.number_types[places[0]], self.name) for places in self.varying]
        return ", ".join([*arrays, *(f"{type_} number{i}" for i, type_ in enumerate(types))])

    @property
    def text(self) -> str:
        """Its definition."""
        lines = [f"void {self.name}({self.parameters}) {{", *self.first.body, "}"]

        names = {place: f"number{i}" for i, places in enumerate(self.varying) for place in places}

        def number(match: re.Match[str]) -> str:
            place = int(match[1])
            return names.get(place, self.first.numbers[place])

        return "".join(f"{_NUMBER.sub(number, line)}\n" for line in lines)

    def arguments(self, function: HostFunction) -> list[str]:
        """Those that make it one of its functions."""
        return [function.numbers[places[0]] for places in self.varying]


def host_function(name: str, func: tirx.PrimFunc) -> HostFunction:
    """A function of TVM's legalization.

    Raises
    ------
    ExportError
        for one that computes what has no C here, or whose shapes are not fixed.
    """
    return _Printer(name, plain_loops(func)).function


def shared(functions: Sequence[HostFunction]) -> dict[str, SharedFunction]:
    """The functions of C for all of these, by the names of these."""
    groups: dict[object, list[HostFunction]] = {}
    for function in functions:
        key = function.arrays, function.workspaces, function.body, function.number_types
        groups.setdefault(key, []).append(function)
    names = Names()
    found = {}
    for members in groups.values():
        columns: dict[tuple[str, ...], list[int]] = {}
        for place, type_ in enumerate(members[0].number_types):
            column = (type_, *(member.numbers[place] for member in members))
            if len(set(column[1:])) > 1:
                columns.setdefault(column, []).append(place)
        varying = tuple(map(tuple, columns.values()))
        common = SharedFunction(names.fresh(_plain(members[0].name)), members[0], varying)
        found.update({member.name: common for member in members})
    return found


def _plain(name: str) -> str:
    """`host_multiply_round_clip` for `fused_multiply12_tir_round2_tir_clip2`."""
    words = [re.sub(r"\d+$", "", word) for word in name.removeprefix("fused_").split("_")]
    return "_".join(["host", *(word for word in words if word and word != "tir")])


class _Printer:
    def __init__(self, name: str, func: tirx.PrimFunc) -> None:
        self._name = name
        self._names: dict[tirx.Var, str] = {}
        self._fresh = Names()
        self._around: list[str] = []
        self._numbers: list[str] = []
        self._number_types: list[str] = []
        self._expressions = Expressions(name, self._names, self._number)
        self._workspaces: list[Array] = []
        written = _written(func)
        arrays = []
        for index, param in enumerate(func.params):
            shape = [self._extent(extent) for extent in param.shape]
            text = self._fresh.fresh("out" if index == len(func.params) - 1 else f"in{index}")
            self._names[param] = text
            dtype = str(param.dtype)
            nbytes = prod(shape) * _item_bytes(dtype, name)
            arrays.append(Array(text, dtype, nbytes, param in written))
        body = tuple(self._statement(func.body, 1))
        numbers = tuple(self._numbers), tuple(self._number_types)
        self.function = HostFunction(
            name, tuple(arrays), tuple(self._workspaces), body, *numbers, host_instructions(func)
        )

    def _number(self, value: float, dtype: str) -> str:
        self._numbers.append(float_text(value, dtype))
        self._number_types.append(dtype)
        return f"\0{len(self._numbers) - 1}\0"

    def _extent(self, extent: ir.Expr) -> int:
        if not isinstance(extent, tirx.IntImm):
            raise ExportError(f"{self._name}: a shape is {extent}, only fixed ones can be exported")
        return int(extent.value)

    def _statement(self, stmt: tirx.Stmt, depth: int) -> Iterator[str]:
        indent, text = "  " * depth, self._expressions.text
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                yield from self._statement(part, depth)
        elif isinstance(stmt, tirx.For):
            yield from self._loop(stmt, depth)
        elif isinstance(stmt, tirx.BufferStore):
            target = self._expressions.element(stmt.buffer, tuple(stmt.indices))
            yield f"{indent}{target} = {text(stmt.value)};"
        elif isinstance(stmt, tirx.IfThenElse):
            yield f"{indent}if ({text(stmt.condition)}) {{"
            yield from self._statement(stmt.then_case, depth + 1)
            if stmt.else_case is not None:
                yield f"{indent}}} else {{"
                yield from self._statement(stmt.else_case, depth + 1)
            yield f"{indent}}}"
        elif isinstance(stmt, tirx.DeclBuffer):
            self._names[stmt.buffer] = self._names[_root(stmt)]
        elif isinstance(stmt, tirx.AllocBuffer):
            yield from self._allocation(stmt, indent)
        elif isinstance(stmt, tirx.Bind):
            self._names[stmt.var] = self._fresh.fresh(f"{stmt.var.name}_value")
            declared = c_type(str(stmt.var.ty.dtype), self._name)
            yield f"{indent}const {declared} {self._names[stmt.var]} = {text(stmt.value)};"
        elif isinstance(stmt, tirx.AttrStmt):
            yield from self._statement(stmt.body, depth)
        elif not (isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.IntImm)):
            raise ExportError(f"{self._name}: a {type(stmt).__name__} has no C here")

    def _loop(self, loop: tirx.For, depth: int) -> Iterator[str]:
        indent = "  " * depth
        name = identifier(str(loop.loop_var.name))
        while name in self._around:  # loops beside each other may have the same variable
            name += "_"
        self._names[loop.loop_var] = name
        self._around.append(name)
        declared = c_type(str(loop.loop_var.ty.dtype), self._name)
        self._expressions.bind(loop)
        begin = self._expressions.text(loop.min)
        end = self._expressions.text(loop.min + loop.extent)
        yield f"{indent}for ({declared} {name} = {begin}; {name} < {end}; ++{name}) {{"
        yield from self._statement(loop.body, depth + 1)
        yield f"{indent}}}"
        self._around.pop()

    def _allocation(self, stmt: tirx.AllocBuffer, indent: str) -> Iterator[str]:
        dtype = str(stmt.buffer.dtype)
        elements = prod(self._extent(extent) for extent in stmt.buffer.shape)
        name = self._names[stmt.buffer] = self._fresh.fresh("part")
        nbytes = elements * _item_bytes(dtype, self._name)
        if nbytes <= MOST_LOCAL_BYTES:
            yield f"{indent}{c_type(dtype, self._name)} {name}[{elements}];"
        else:
            self._workspaces.append(Array(name, dtype, nbytes, is_written=True))


def _root(stmt: tirx.DeclBuffer) -> tirx.Var:
    """The parameter that a flat array is another name of."""
    (param,) = stmt.data.args
    return param


def _written(func: tirx.PrimFunc) -> set[tirx.Var]:
    """The parameters that the function stores to."""
    roots: dict[tirx.Var, tirx.Var] = {}
    stores: list[tirx.BufferStore] = []

    def declare(stmt: tirx.DeclBuffer) -> None:
        roots[stmt.buffer] = _root(stmt)

    tvm_ffi.structural_walk(
        func.body, [(tirx.DeclBuffer, declare), (tirx.BufferStore, stores.append)]
    )
    return {roots.get(store.buffer, store.buffer) for store in stores}


def _item_bytes(dtype: str, where: str) -> int:
    c_type(dtype, where)
    return 1 if dtype == "bool" else int(re.sub(r"\D", "", dtype)) // 8
