"""Which part of a copy is issued in which iterations of a loop of steps."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from npu_target.codegen.interleaving import Interleaver
from npu_target.codegen.operations import CopyKind, CopyOperation, Engine, LoopIds
from npu_target.codegen.parts import Copy, Part
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
    copies: list[Copy],
    iterations: int,
    ids: LoopIds,
    *,
    step_cycles: float | None = None,
    store_latency_cycles: float = 0.0,
) -> list[Part]:
    queues = {Engine.LOAD: CONFIG.ld_queue_entries, Engine.STORE: CONFIG.st_queue_entries}
    interleaver = Interleaver(queues, ids, store_latency_cycles)
    return interleaver.spread(copies, 0, iterations, step_cycles=step_cycles)


def turns_of(parts: list[Part]) -> dict[Engine, list[int]]:
    """The iterations with the commands of each engine's parts."""
    turns: dict[Engine, list[int]] = {Engine.STORE: [], Engine.LOAD: []}
    for part in parts:
        for at in range(part.begin, part.end):
            turns[part.copy.operation.kind.engine] += [at] * part.commands
    return turns


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
    turns = turns_of(parts)
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


@given(st.integers(2, 90), st.booleans(), st.booleans())
def test_other_loads_leave_out_the_first_iteration_of_a_nest(iterations, outermost, keep_up):
    """Where stores, and loads that wait for them, keep up with its steps: it comes while the array
    has steps of the nest before."""
    ids = LoopIds()
    few = copy_of(Engine.LOAD, 9.0, ids, alone=True)
    few = few.with_operation(few.operation.sliced(0, Linear(), 2))
    copies = [copy_of(Engine.STORE, 9.0, ids), copy_of(Engine.LOAD, 9.0, ids), few]
    step_cycles = 100.0 if keep_up else 0.1
    parts = spread(copies, iterations, ids, step_cycles=step_cycles if outermost else None)
    begin = min(part.begin for part in parts if not part.copy.first and not part.copy.last)
    assert begin == int(outermost and keep_up and iterations > 2)  # what fills all begins at 0


@given(st.integers(2, 90), st.floats(0.5, 100), st.floats(0, 500))
@example(4, 2.0, 51.0)
def test_where_they_would_fill_their_queue_loads_follow_when_stores_are_done(
    iterations, slack, latency
):
    """Of steps that take longer than all copies, but no longer than a store and a load of an
    iteration, unless that is the last one for all."""
    ids = LoopIds()
    cycles = 90.0
    copies = [copy_of(Engine.STORE, cycles, ids), copy_of(Engine.LOAD, cycles, ids)]
    step_cycles = cycles / iterations + slack
    late = turns_of(
        spread(copies, iterations, ids, step_cycles=step_cycles, store_latency_cycles=latency)
    )
    soon = turns_of(spread(copies, iterations, ids))
    assert late[Engine.STORE] == soon[Engine.STORE]
    assert len(late[Engine.LOAD]) == COMMANDS, "none is lost"
    each = -(-COMMANDS // iterations)
    done = (cycles * each / COMMANDS + latency) // step_cycles
    keeps_up = 2 * cycles * each / COMMANDS <= step_cycles
    if keeps_up or soon[Engine.LOAD][0] + done >= iterations - 1:
        assert late == soon
    for before, now in zip(soon[Engine.LOAD], late[Engine.LOAD], strict=True):
        assert before <= now < iterations
        assert late == soon or now >= min(before + done, iterations - 1)


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 7), st.integers(1, 8), st.integers(1, 6)),
        max_size=8,
    )
)
def test_what_begins_an_iteration_fits_in_the_queues(drawn: list[tuple[bool, int, int, int]]):
    extent, ids = 8, LoopIds()
    queues = {Engine.LOAD: 8, Engine.STORE: 6}
    interleaver = Interleaver(queues, ids)
    parts = []
    for is_load, begin, length, commands in drawn:
        copy = copy_of(Engine.LOAD if is_load else Engine.STORE, 100.0, ids, alone=True)
        parts.append(Part(begin, min(begin + length, extent), commands, copy))
    mine, others = interleaver.at_once(parts, extent)
    assert [part for part in parts if part in mine] == mine
    assert [part for part in parts if part in others] == others
    assert len(mine) + len(others) == len(parts)
    for engine, room in interleaver.room.items():
        few = [part for part in parts if part.copy.operation.kind.engine is engine]
        few = [part for part in few if part.commands <= room // (3 if engine is Engine.LOAD else 2)]
        whole = [part for part in few if part.end - part.begin == extent]
        assert all(part in mine for part in few if part not in whole)
        together = [
            sum(part.commands for part in few if part in mine and part.begin <= at < part.end)
            for at in range(extent)
        ]
        if any(part in mine for part in whole):
            assert max(together) <= room
        for part in whole:  # what is left inside does not fit
            assert part in mine or max(together) + part.commands > room
