"""Which part of a copy is issued in which iterations of a loop of steps."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from npu_target.codegen.interleaving import Copy, Interleaver
from npu_target.codegen.operations import CopyKind, CopyOperation, Engine, LoopIds
from npu_target.device import preset
from npu_target.devices.gemmini.copies import Move
from npu_target.devices.gemmini.isa import LocalAddress, Mvin, Mvout
from npu_target.passes.linear import Linear

CONFIG = preset("gemmini-16x16")
DIM = CONFIG.dim
COMMANDS = 60


def copy_of(engine: Engine, cycles: float, ids: LoopIds) -> Copy:
    """A copy of so many cycles, of commands that each have rows of their own."""
    is_load = engine is Engine.LOAD
    move = Move(Mvin if is_load else Mvout, LocalAddress(0, accumulator=True))
    kind = CopyKind(engine, is_load, CONFIG.memories.sums, 0, DIM, DIM, move)
    loop = ids.loop(COMMANDS)
    by = Linear.loop(loop.loop_id) * DIM
    operation = CopyOperation(
        kind, (loop,), by, by, Linear(DIM), Linear(DIM), DIM, DIM, (), cycles / COMMANDS
    )
    return Copy(operation, [], first=not is_load, last=is_load, is_own=False)


@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(2, 12))
@example(448, 256, 4)
def test_copies_and_those_that_follow_them_are_as_close_together_as_each_other(
    store_cycles, load_cycles, iterations
):
    """No other turn between them has the ones that come closest further apart."""
    ids = LoopIds()
    copies = [copy_of(Engine.STORE, store_cycles, ids), copy_of(Engine.LOAD, load_cycles, ids)]
    queues = {Engine.LOAD: CONFIG.ld_queue_entries, Engine.STORE: CONFIG.st_queue_entries}
    parts = Interleaver(queues, ids).spread(copies, 0, iterations)
    stores, loads = (
        [part for part in parts if part.copy.first is first] for first in (True, False)
    )
    turn = max(part.end for part in stores)
    assert min(part.begin for part in loads) == turn
    assert sum(part.total for part in stores) == sum(part.total for part in loads) == COMMANDS

    def closest(at: int) -> float:
        return max(store_cycles / at, load_cycles / (iterations - at))

    assert closest(turn) == min(closest(at) for at in range(1, iterations))
