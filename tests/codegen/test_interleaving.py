"""Which part of a copy is issued in which iterations of a loop of steps."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from npu_target.codegen.interleaving import Copy, Interleaver, Part
from npu_target.codegen.operations import CopyKind, CopyOperation, Engine, LoopIds
from npu_target.device import preset
from npu_target.devices.gemmini.copies import Move
from npu_target.devices.gemmini.isa import LocalAddress, Mvin, Mvout
from npu_target.passes.linear import Linear

CONFIG = preset("gemmini-16x16")
DIM = CONFIG.dim
COMMANDS = 60


def copy_of(
    engine: Engine, cycles: float, ids: LoopIds, *, around: int = 0, alone: bool = False
) -> Copy:
    """A copy of so many cycles, of commands that each have rows of their own, moved by a loop
    ``around`` it.  ``alone``: no other one follows it, or it none."""
    is_load = engine is Engine.LOAD
    move = Move(Mvin if is_load else Mvout, LocalAddress(0, accumulator=True))
    kind = CopyKind(engine, is_load, CONFIG.memories.sums, 0, DIM, DIM, move)
    loop = ids.loop(COMMANDS)
    by = Linear.of(0, {loop.loop_id: DIM, around: DIM})
    operation = CopyOperation(
        kind, (loop,), by, by, Linear(DIM), Linear(DIM), DIM, DIM, (), cycles / COMMANDS
    )
    is_first, is_last = not is_load and not alone, is_load and not alone
    return Copy(operation, [], first=is_first, last=is_last, is_own=False)


def spread(
    copies: list[Copy], iterations: int, ids: LoopIds, *, outermost: bool = False
) -> list[Part]:
    queues = {Engine.LOAD: CONFIG.ld_queue_entries, Engine.STORE: CONFIG.st_queue_entries}
    return Interleaver(queues, ids).spread(copies, 0, iterations, outermost=outermost)


@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(2, 12))
@example(448, 256, 4)
def test_copies_and_those_that_follow_them_are_as_close_together_as_each_other(
    store_cycles, load_cycles, iterations
):
    """Where it is not known which follow which: no other turn between them has the ones that come
    closest further apart."""
    ids = LoopIds()
    around = ids.loop(2).loop_id
    stores = copy_of(Engine.STORE, store_cycles, ids)
    loads = copy_of(Engine.LOAD, load_cycles, ids, around=around)
    parts = spread([stores, loads], iterations, ids)
    first = [part for part in parts if part.copy.first]
    last = [part for part in parts if part.copy.last]
    turn = max(part.end for part in first)
    assert min(part.begin for part in last) == turn
    assert sum(part.total for part in first) == sum(part.total for part in last) == COMMANDS

    def closest(at: int) -> float:
        return max(store_cycles / at, load_cycles / (iterations - at))

    assert closest(turn) == min(closest(at) for at in range(1, iterations))


@given(st.integers(2, 90))
def test_copies_follow_others_row_by_row(iterations):
    """Loads of the rows that stores leave begin with the first of these."""
    ids = LoopIds()
    parts = spread(
        [copy_of(Engine.STORE, 9.0, ids), copy_of(Engine.LOAD, 9.0, ids)], iterations, ids
    )
    turns: dict[Engine, list[int]] = {Engine.STORE: [], Engine.LOAD: []}
    for part in parts:
        for at in range(part.begin, part.end):
            turns[part.copy.operation.kind.engine] += [at] * part.commands
    assert all(len(found) == COMMANDS for found in turns.values())
    both = zip(turns[Engine.STORE], turns[Engine.LOAD], strict=True)
    assert all(store <= load < iterations for store, load in both)
    assert turns[Engine.LOAD][0] == 0


@given(st.integers(2, 90))
def test_loads_that_wait_for_stores_hold_up_no_others(iterations):
    """Loads are done in their order."""
    ids = LoopIds()
    copies = [
        copy_of(Engine.STORE, 9.0, ids),
        copy_of(Engine.LOAD, 9.0, ids),
        copy_of(Engine.LOAD, 9.0, ids, alone=True),
    ]
    parts = spread(copies, iterations, ids)
    for at in range(iterations):
        here = [part.copy for part in parts if part.begin <= at < part.end]
        assert [copy.last for copy in here] == sorted(copy.last for copy in here)
        assert any(copy.first for copy in here) or not any(copy.last for copy in here)


@given(st.integers(2, 90), st.booleans())
@example(3, True)
@example(4, True)
def test_other_loads_leave_out_the_first_iteration_of_a_nest(iterations, outermost):
    """Where there is one to spare: it comes while the array has steps of the nest before."""
    ids = LoopIds()
    few = copy_of(Engine.LOAD, 9.0, ids, alone=True)
    few = few.with_operation(few.operation.sliced(0, Linear(), 2))
    copies = [copy_of(Engine.STORE, 9.0, ids), copy_of(Engine.LOAD, 9.0, ids), few]
    parts = spread(copies, iterations, ids, outermost=outermost)
    begin = min(part.begin for part in parts if not part.copy.first and not part.copy.last)
    assert begin == int(outermost and iterations > 3)
