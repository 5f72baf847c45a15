"""Operations of copies, against what they come to command by command."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

from codegen_streams import commands
from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen.operations import CopyKind, CopyOperation, Engine, Guard, LoopIds
from npu_target.device import preset
from npu_target.devices.gemmini.copies import Move
from npu_target.devices.gemmini.isa import LocalAddress, Mvin
from npu_target.passes.linear import Linear
from npu_target.passes.transfers import LoopExtent

CONFIG = preset("gemmini-8x8")
DIM = CONFIG.dim
SCRATCHPAD = CONFIG.memories.inputs
MVIN = Move(Mvin, LocalAddress(0))
LOADS = CopyKind(Engine.LOAD, True, SCRATCHPAD, 0, DIM, 40, MVIN)
Values = dict[int, int]


def value(form: Linear, values: Values) -> int:
    return form.const + sum(factor * values[key] for key, factor in form.items)


def holds(guard: Guard, values: Values) -> bool:
    return all(value(form, values) >= 0 for form in guard.forms) != guard.negated


def iterations(loops: Sequence[LoopExtent]) -> Iterator[Values]:
    ids = [loop.loop_id for loop in loops]
    for indices in itertools.product(*(range(loop.extent) for loop in loops)):
        yield dict(zip(ids, indices, strict=True))


def words(operation: CopyOperation) -> Counter[tuple[int, ...]]:
    """Row, address, rows and columns of each command, from the operation's definition."""
    return Counter(
        tuple(value(form, values) for form in operation[2:6])
        for values in iterations(operation.loops)
        if all(holds(guard, values) for guard in operation.guards)
    )


@st.composite
def operations(draw: st.DrawFn, guarded: bool = True) -> tuple[CopyOperation, LoopIds]:
    """Loads in up to three loops, many of which advance evenly."""
    ids = LoopIds()
    loops = [ids.loop(extent) for extent in draw(st.lists(st.integers(2, 4), max_size=3))]
    even = draw(st.booleans())

    def form(base: int, step: int) -> Linear:
        terms, by = {}, step
        for loop in draw(st.permutations(loops)) if not even else loops:
            terms[loop.loop_id] = by if even else draw(st.sampled_from([0, by, 1, step]))
            by *= loop.extent
        return Linear.of(base, terms)

    guards = []
    for _ in range(draw(st.integers(0, 2)) if guarded else 0):
        terms = {loop.loop_id: draw(st.integers(-2, 2)) for loop in loops}
        guard = Guard((Linear.of(draw(st.integers(-3, 5)), terms),), draw(st.booleans()))
        guards.append(guard)
    rows, columns = draw(st.integers(1, DIM)), draw(st.integers(1, 2 * DIM))
    row, address = form(10, draw(st.integers(1, 9))), form(100, draw(st.integers(1, 50)))
    operation = CopyOperation(
        LOADS, tuple(loops), row, address, Linear(rows), Linear(columns), rows, columns,
        tuple(guards), 1.0,
    )  # fmt: skip
    return operation, ids


@given(operations())
def test_nodes_are_the_commands(found) -> None:
    operation, _ = found
    loads = commands(operation.nodes(), CONFIG)
    made = Counter((c.local.row, c.dram_address, c.rows, c.cols) for c in loads)
    assert made == words(operation)


@given(operations())
def test_one_loop_for_several_that_advance_evenly(found) -> None:
    operation, _ = found
    merged = operation.merged()
    assert words(merged) == words(operation)
    assert merged.number == operation.number
    assert len(merged.loops) <= len(operation.loops)


def test_rows_that_follow_each_other_are_one_loop() -> None:
    ids = LoopIds()
    outer, inner = ids.loop(3), ids.loop(5)
    row = Linear.of(0, {outer.loop_id: 40, inner.loop_id: 8})
    operation = CopyOperation(
        LOADS, (outer, inner), row, row * 2, Linear(8), Linear(8), 8, 8, (), 1.0
    )
    assert [loop.extent for loop in operation.merged().loops] == [15]
    guard = Guard((Linear.loop(inner.loop_id),))
    assert len(operation._replace(guards=(guard,)).merged().loops) == 2


@given(operations(), st.data())
def test_slices_make_up_the_whole(found, data) -> None:
    operation, _ = found
    if not operation.loops:
        return
    axis = data.draw(st.integers(0, len(operation.loops) - 1))
    extent = operation.loops[axis].extent
    cut = data.draw(st.integers(1, extent))
    parts = [operation.sliced(axis, Linear(0), cut)]
    if cut < extent:
        parts.append(operation.sliced(axis, Linear(cut), extent - cut))
    assert sum((words(part) for part in parts), Counter()) == words(operation)
    assert sum(part.number for part in parts) == operation.number


@given(operations(), st.lists(st.tuples(st.integers(-4, 4), st.integers(-2, 2)), max_size=2))
def test_where_conditions_hold(found, conditions) -> None:
    """Conditions on a loop around, some of which are decided without it."""
    operation, ids = found
    around = ids.loop(4)
    forms = [Linear.of(const, {around.loop_id: factor}) for const, factor in conditions]
    limited = operation.where(forms, ids)
    for index in range(around.extent):
        at = {around.loop_id: Linear(index)}
        is_met = all(value(form.substitute(at), {}) >= 0 for form in forms)
        made = Counter() if limited is None else words(limited.substitute(at))
        assert made == (words(operation) if is_met else Counter())


@given(operations(guarded=False))
def test_touched_rows(found) -> None:
    operation, _ = found
    touched = operation.touched_rows()
    assert touched is not None
    blocks = range(-(-operation.most_columns // DIM))
    for values in iterations(operation.loops):
        first = value(operation.row, values)
        wanted = {first + 40 * b + r for b in blocks for r in range(operation.most_rows)}
        place = tuple(values[loop.loop_id] for loop in operation.loops)
        assert set(touched[place].tolist()) == wanted


def test_rows_that_are_not_known() -> None:
    operation = CopyOperation(LOADS, (), Linear(), Linear(), Linear(), Linear(8), 0, 8, (), 1.0)
    assert operation.touched_rows() is None


@given(st.integers(-9, 9), st.lists(st.tuples(st.integers(1, 5), st.integers(-4, 4)), max_size=3))
def test_bounds_are_reached(const: int, terms: list[tuple[int, int]]) -> None:
    ids = LoopIds()
    loops = [ids.loop(extent) for extent, _ in terms]
    form = Linear.of(const, {x.loop_id: f for x, (_, f) in zip(loops, terms, strict=True)})
    all_values = [value(form, values) for values in iterations(loops)]
    assert ids.bounds(form) == (min(all_values), max(all_values))
    shorter = [LoopExtent(loop.loop_id, 1) for loop in loops]
    assert ids.bounds(form, shorter) == (const, const)


def test_a_loop_that_is_not_known_has_no_bounds() -> None:
    assert LoopIds().bounds(Linear.loop(7)) == (-inf, inf)
