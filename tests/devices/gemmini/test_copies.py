"""Copies as commands: run on a device, they move exactly the elements of the original loops."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from npu_target.codegen.constant_rows import ConstantRows
from npu_target.codegen.operations import LoopIds
from npu_target.device_api import expand_program, run_stream
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.copies import CopyOperations
from npu_target.devices.gemmini.copy_rules import GemminiCopyRules
from npu_target.devices.gemmini.settings import DeviceSettings
from npu_target.passes.boundaries import split_boundaries
from npu_target.passes.copies import Load, Store
from npu_target.passes.errors import CodegenError
from npu_target.passes.linear import Linear, combine
from npu_target.passes.transfers import LoopExtent, plan_transfer
from npu_target.program import Arg, Loop, Program, expr

# Small enough to compare every element, and rows of 64 bytes hold many blocks.
DEVICE = GemminiConfig(name="tiny", dim=4, spad_bank_rows=256, acc_banks=2, acc_bank_rows=256)
MEMORIES = DEVICE.memories
RULES = GemminiCopyRules(DEVICE)
BASE = 0x80010000
OUTER, OUTER_EXTENT = 400, 3  # a loop of the program around the copy
COLUMN = 0


@dataclass(frozen=True)
class Case:
    """A copy and the loops of its nest."""

    copy: Load | Store
    loops: tuple[LoopExtent, ...]

    def points(self):
        """Loop values of every iteration, in the program's order."""
        names = [OUTER, *(loop.loop_id for loop in self.loops)]
        extents = [OUTER_EXTENT, *(loop.extent for loop in self.loops)]
        for values in itertools.product(*map(range, extents)):
            yield dict(zip(names, values, strict=True))


def is_sums(copy: Load | Store) -> bool:
    return copy.memory == MEMORIES.sums


def value_of(form: Linear, point: dict[int, int]) -> int:
    operations = {"floordiv": lambda a, b: a // b, "floormod": lambda a, b: a % b}
    total = form.const
    for key, factor in form.items:
        if isinstance(key, int):
            total += factor * point[key]
        else:
            total += factor * operations[key.op](value_of(key.a, point), value_of(key.b, point))
    return total


@st.composite
def layouts(draw):
    """The nest's loops, and the tile's row: dense in some order of the loops, each row once."""
    extents = draw(st.lists(st.integers(1, 5), min_size=0, max_size=3))
    loops = [LoopExtent(COLUMN, DEVICE.dim)]
    loops += [LoopExtent(1 + n, extent) for n, extent in enumerate(extents)]
    row, stride = Linear(draw(st.integers(0, 8))), 1
    for loop in draw(st.permutations(loops[1:])):
        row = row + Linear.loop(loop.loop_id) * stride
        stride *= loop.extent
    assume(stride <= 60)
    row = row + Linear.loop(OUTER) * stride
    return tuple(draw(st.permutations(loops))), row


@st.composite
def offsets(draw, loops: tuple[LoopExtent, ...], row: Linear):
    """DRAM elements: neighbours along the columns, otherwise whatever."""
    offset = Linear.loop(COLUMN)
    strides = st.sampled_from([0, 1, DEVICE.dim, 2 * DEVICE.dim, 7, 40])
    for loop in loops:
        if loop.loop_id != COLUMN:
            if loop.extent > 2 and draw(st.integers(0, 5)) == 0:  # two loops fused
                parts = (combine(op, Linear.loop(loop.loop_id), Linear(2)) for op in _FUSED)
                for part in parts:
                    offset = offset + part * draw(strides)
            else:
                offset = offset + Linear.loop(loop.loop_id) * draw(strides)
    if draw(st.booleans()):  # as the tile lies
        offset = offset + (row - row.const) * DEVICE.dim
        offset = offset - Linear.loop(OUTER) * offset.coefficient(OUTER)
    return offset + Linear.loop(OUTER) * draw(strides) + draw(st.integers(0, 30))


_FUSED = ("floordiv", "floormod")


@st.composite
def bounds(draw, loops: tuple[LoopExtent, ...]):
    """Conditions: the last columns, the first and last rows, either depending on loops around."""
    forms = []
    others = [loop for loop in loops if loop.loop_id != COLUMN]
    if draw(st.booleans()):
        # At least one column of a row is valid, as in every definition.
        valid = draw(st.integers(1, DEVICE.dim))
        form = Linear(valid - 1) - Linear.loop(COLUMN)
        if others and draw(st.booleans()):
            block = draw(st.sampled_from(others))
            left = Linear(block.extent - 1) - Linear.loop(block.loop_id)
            form = form + left * DEVICE.dim
        forms.append(form)
    for loop in others:
        if draw(st.booleans()):
            slope = draw(st.sampled_from([-3, -1, 1, 2]))
            form = Linear.loop(loop.loop_id) * slope + draw(st.integers(-8, 8))
            if draw(st.integers(0, 2)) == 0:
                form = form + Linear.loop(OUTER) * draw(st.integers(-3, 3))
            if len(others) > 1 and draw(st.integers(0, 4)) == 0:
                other = draw(st.sampled_from(others))
                form = form + Linear.loop(other.loop_id) * draw(st.integers(-2, 2))
            forms.append(form)
    return tuple(forms)


@st.composite
def loads(draw):
    loops, row = draw(layouts())
    in_accumulator = draw(st.booleans())
    shrunk = in_accumulator and draw(st.booleans())
    copy = Load(
        row,
        Linear.loop(COLUMN),
        MEMORIES.sums if in_accumulator else MEMORIES.inputs,
        "x",
        draw(offsets(loops, row)),
        4 if in_accumulator and not shrunk else 1,
        draw(bounds(loops)),
        accumulate=in_accumulator and draw(st.booleans()),
        shrunk=shrunk,
        scale=draw(st.sampled_from([1.0, 0.5])) if shrunk or not in_accumulator else 1.0,
    )
    if draw(st.integers(0, 5)) == 0:
        copy = copy._replace(source=None, valid=(), accumulate=False, shrunk=False)
    if copy.element_bytes == 1 and not copy.accumulate and draw(st.booleans()):
        shrunk = in_accumulator
        copy = copy._replace(fill=draw(st.sampled_from([-128, 7])), scale=1.0, shrunk=shrunk)
    return Case(copy, loops)


@st.composite
def stores(draw):
    loops, row = draw(layouts())
    kind = draw(st.sampled_from(["scratchpad", "requantized", "full width"]))
    copy = Store(
        row,
        Linear.loop(COLUMN),
        MEMORIES.inputs if kind == "scratchpad" else MEMORIES.sums,
        "y",
        draw(offsets(loops, row)),
        4 if kind == "full width" else 1,
        draw(bounds(loops)),
        scales=(0.25 if kind == "requantized" else 1.0,),
        relu=kind == "requantized" and draw(st.booleans()),
        full_width=kind == "full width",
    )
    # Every element of DRAM is stored once, else the order of the loops would matter.
    case = Case(copy, loops)
    targets = [value_of(copy.offset, point) for point in case.points() if is_valid(copy, point)]
    assume(len(set(targets)) == len(targets))
    return case


def is_valid(copy: Load | Store, point: dict[int, int]) -> bool:
    return all(value_of(form, point) >= 0 for form in copy.valid)


def commands(case: Case, dram_bytes: int) -> tuple[bytes, bytes]:
    """The stream of a program that does nothing but the copy, its argument at BASE, and what it
    reads of its own, behind that."""
    name = "x" if isinstance(case.copy, Load) else "y"
    settings, rows = DeviceSettings(DEVICE), ConstantRows(1, DEVICE.mvin_max_cols)
    operations = CopyOperations(DEVICE, {name: 0}, settings, LoopIds(), rows)
    # Loops of a nest are symbols before they are those of the program.
    symbols = {loop.loop_id: Linear.loop(~loop.loop_id) for loop in case.loops if loop.extent > 1}
    in_program = {~number: Linear.loop(500 + number) for number in symbols}
    copy = case.copy.at({loop.loop_id: symbols.get(loop.loop_id, Linear()) for loop in case.loops})
    loops = tuple(
        loop._replace(loop_id=~loop.loop_id) for loop in case.loops if loop.loop_id in symbols
    )

    def pieces() -> list:
        body: list = []
        for part, around in split_boundaries(copy, loops, RULES):
            for operation in operations.of(part, plan_transfer(part, around, RULES)):
                own = tuple(
                    loop._replace(loop_id=500 + ~loop.loop_id) if loop.loop_id < 0 else loop
                    for loop in operation.loops
                )
                body += operation.substitute(in_program, own).merged().nodes()
        return body

    at_start, body = settings.phase(pieces)
    outer = Loop(OUTER, expr.const(OUTER_EXTENT), tuple(body))
    role = "input" if isinstance(case.copy, Load) else "output"
    argument = Arg(name, role, "int8", (max(1, dram_bytes),))
    program = Program("copy", DEVICE, (argument,), (*at_start, outer), rows.constants)
    own = b"".join(constant.data for constant in rows.constants)
    places = [BASE, BASE + dram_bytes][: 1 + len(rows.constants)]
    return expand_program(program.to_bytes(), places), own


def random_bytes(n_bytes: int, seed: int) -> bytes:
    return np.random.default_rng(seed).integers(0, 256, n_bytes, np.uint8).tobytes()


def requantize(value: int, scale: float, relu: bool = False) -> int:
    result = int(np.clip(np.rint(np.float32(value) * np.float32(scale)), -128, 127))
    return max(result, 0) if relu else result


def run(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray, object]:
    """Memories before and after; DRAM just as large as what may be touched."""
    touched = [value_of(case.copy.offset, p) for p in case.points() if is_valid(case.copy, p)]
    size = (max(touched, default=0) + 1) * case.copy.element_bytes
    if isinstance(case.copy, Load) and case.copy.shrunk:  # zeros are elements times 0
        size = max(size, DEVICE.mvin_max_cols)
    dram = random_bytes(size, 1)
    spad = random_bytes(DEVICE.spad_rows * DEVICE.spad_row_bytes, 2)
    acc = random_bytes(DEVICE.acc_rows * DEVICE.acc_row_bytes, 3)
    memories = {"spad": spad, "acc": acc}
    stream, own = commands(case, size)
    result = run_stream(DEVICE, stream, BASE, dram + own, memories)
    return dram, spad, acc, result


def check_load(case: Case) -> None:
    copy = case.copy
    dram, spad, acc, result = run(case)
    start = {"spad": spad, "acc": acc}
    target, other = ("acc", "spad") if is_sums(copy) else ("spad", "acc")
    before, after = (
        np.frombuffer(memories[target], np.int32 if is_sums(copy) else np.int8).reshape(
            -1, DEVICE.dim
        )
        for memories in (start, result.memories)
    )
    assert bytes(result.memory)[: len(dram)] == dram
    assert result.memories[other] == start[other]
    source = np.frombuffer(dram, np.int32 if copy.element_bytes == 4 else np.int8)
    expected = before.astype(np.int64)
    free = np.zeros(before.shape, bool)  # columns past the valid ones may stay as they were
    columns_bounded = [f for f in copy.valid if f.depends_on(COLUMN)]
    for point in case.points():
        at = value_of(copy.row, point), point[COLUMN]
        old = expected[at] if copy.accumulate else 0
        if copy.source and is_valid(copy, point):
            value = int(source[value_of(copy.offset, point)])
            expected[at] = old + (requantize(value, copy.scale) if copy.scale != 1 else value)
        else:
            expected[at] = copy.fill or old
            free[at] = any(value_of(form, point) < 0 for form in columns_bounded)
    expected = expected.astype(before.dtype)
    assert ((after == expected) | (free & (after == before))).all()


def check_store(case: Case) -> None:
    copy = case.copy
    dram, spad, acc, result = run(case)
    assert (result.memories["spad"], result.memories["acc"]) == (spad, acc)
    dtype = np.int32 if copy.element_bytes == 4 else np.int8
    tile = np.frombuffer(acc if is_sums(copy) else spad, np.int32 if is_sums(copy) else np.int8)
    tile = tile.reshape(-1, DEVICE.dim)
    expected = np.frombuffer(dram, dtype).copy()
    for point in case.points():
        if is_valid(copy, point):
            value = int(tile[value_of(copy.row, point), point[COLUMN]])
            if is_sums(copy) and not copy.full_width:
                value = requantize(value, copy.scale, copy.relu)
            expected[value_of(copy.offset, point)] = value
    np.testing.assert_array_equal(np.frombuffer(result.memory, dtype), expected)


def check(case: Case) -> None:
    try:
        (check_load if isinstance(case.copy, Load) else check_store)(case)
    except CodegenError as error:
        # A row whose columns end elsewhere in each iteration of a loop of rows.
        assert "does not bound the columns" in str(error), error


@given(loads())
@settings(max_examples=60)
def test_loads_move_every_element(case):
    check(case)


@given(stores())
@settings(max_examples=60)
def test_stores_move_every_element(case):
    check(case)


@pytest.mark.slow
@given(st.one_of(loads(), stores()))
@settings(max_examples=4000)
def test_copies_move_every_element_at_length(case):
    check(case)
