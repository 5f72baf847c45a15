"""Settings of stores by block: each store finds its own, and none is made that the device holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from program_evaluator import expand

from npu_target.codegen.operations import CopyKind, CopyOperation, Engine, Guard, LoopIds
from npu_target.codegen.placed import Placed, PlacedCopy, PlacedLoop, emitted
from npu_target.device import preset
from npu_target.devices.gemmini import isa
from npu_target.devices.gemmini.block_setting import BlockSetting
from npu_target.devices.gemmini.copies import Move
from npu_target.devices.gemmini.isa import ConfigSt, LocalAddress, Mvout
from npu_target.devices.gemmini.store_settings import without_repeated
from npu_target.passes.linear import Linear, combine
from npu_target.program import Arg, Program

CONFIG = preset("gemmini-8x8")
SCALES = (0.5, 0.25, 0.125, 2.0)
STEP = 1 << 20  # bytes between blocks, here


def store(block: Linear, ids: LoopIds, own: int = 1, conditions: tuple[Linear, ...] = ()):
    """A store of some block, which its address says, in a loop of its own."""
    loops = (ids.loop(own),) if own > 1 else ()
    setting = BlockSetting(ConfigSt(stride_bytes=8, scale=1.0), SCALES, CONFIG, ids)
    move = Move(Mvout, LocalAddress(0, accumulator=True), block_setting=setting)
    kind = CopyKind(Engine.STORE, False, CONFIG.memories.sums, 0, 8, 8, move)
    within = Linear.loop(loops[0].loop_id) * 8 if loops else Linear()
    guards = (Guard(conditions),) if conditions else ()
    one = Linear(8)
    operation = CopyOperation(
        kind, loops, Linear(), block * STEP + within, one, one, 8, 8, guards, 1.0, block
    )
    return PlacedCopy(operation, ())


@st.composite
def bodies(draw, ids: LoopIds, around: tuple[int, ...] = (), depth: int = 2) -> tuple[Placed, ...]:
    """Stores of blocks that are numbers, or a loop's variable or its half, maybe under a
    condition of it."""
    body: list[Placed] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.booleans()):
            loop = ids.loop(draw(st.integers(2, 4)))
            inside = bodies(ids, (*around, loop.loop_id), depth - 1)
            body.append(PlacedLoop(loop, draw(inside)))
            continue
        block, conditions = Linear(draw(st.integers(0, 3))), ()
        if around and draw(st.booleans()):
            block = Linear.loop(draw(st.sampled_from(around)))
            if draw(st.booleans()):  # as of a loop over blocks and lines together
                block = combine("floordiv", block, Linear(2))
        if around and draw(st.booleans()):
            conditions = (Linear.loop(draw(st.sampled_from(around))) - 1,)
        body.append(store(block, ids, draw(st.integers(1, 2)), conditions))
    return tuple(body)


def stream(placed: tuple[Placed, ...]) -> list:
    args = (Arg("out", "output", "int8", (STEP * len(SCALES),)),)
    program = Program("stores", CONFIG, args, emitted(placed))
    return [isa.COMMANDS.decode(*words) for words in expand(program, {"out": 0})]


@given(st.data())
def test_each_store_finds_its_setting(data):
    placed = data.draw(bodies(LoopIds()))
    before, after = stream(placed), stream(without_repeated(placed))
    held, made, stored = None, 0, []
    for command in after:
        if isinstance(command, ConfigSt):
            held, made = command.scale, made + 1
        else:
            assert held == SCALES[command.dram_address // STEP]
            stored.append(command)
    assert stored == [command for command in before if isinstance(command, Mvout)]
    # Where no condition is met, one may be made in vain before what holds it.
    if not any(_has_guards(one) for one in placed):
        assert made <= len(stored)


def _has_guards(one: Placed) -> bool:
    if isinstance(one, PlacedLoop):
        return any(map(_has_guards, one.body))
    assert isinstance(one, PlacedCopy)
    return bool(one.operation.guards)


def settings_of(*placed: Placed) -> int:
    return sum(isinstance(command, ConfigSt) for command in stream(without_repeated(placed)))


def test_there_is_one_where_the_block_changes():
    ids = LoopIds()
    one, two = Linear(1), Linear(2)
    assert settings_of(store(one, ids, 4), store(one, ids), store(two, ids, 3)) == 2
    # A loop in all of which the block is the same, inside of one over blocks.
    outer, inner = ids.loop(4), ids.loop(3)
    block = Linear.loop(outer.loop_id)
    same = PlacedLoop(inner, (store(block, ids), store(block, ids)))
    assert settings_of(PlacedLoop(outer, (same,))) == 4
    # Two that change places in each iteration.
    assert settings_of(PlacedLoop(inner, (store(one, ids), store(two, ids)))) == 6
