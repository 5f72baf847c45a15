"""Tokens between engines: whatever is ordered stays so at all speeds, and none is left over."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen.dependences import Touched
from npu_target.codegen.operations import Engine
from npu_target.codegen.placed import Placed, PlacedLoop
from npu_target.devices.vta import isa
from npu_target.devices.vta.tokens import Work, ordered
from npu_target.passes.linear import Linear, combine
from npu_target.passes.memory import Placement
from npu_target.passes.transfers import LoopExtent
from npu_target.program import Command, Operand

# Tiles of inputs, of two or three versions, and of sums.
INPUTS = [Placement("inputs", 0, 20, ()), Placement("inputs", 20, 50, ())]
SUMS = [Placement("sums", 0, 20, ()), Placement("sums", 20, 30, ())]
VERSIONS = 3
# Of commands that are no tokens.
WORK = 1


class Touch(NamedTuple):
    """What a command of a work touches."""

    engine: Engine
    touched: tuple[Touched, ...]


@st.composite
def bodies(draw: st.DrawFn, works: list[Touch], loops: tuple[int, ...] = ()) -> tuple[Work, ...]:
    def touched(tiles: list[Placement]) -> Touched:
        version = Linear(draw(st.integers(0, VERSIONS - 1)))
        if loops and draw(st.booleans()):
            loop = Linear.loop(draw(st.sampled_from(loops)))
            version = combine("floormod", loop + version, Linear(VERSIONS))
        return Touched(draw(st.sampled_from(tiles)), version)

    body = []
    for _ in range(draw(st.integers(1, 5))):
        if len(loops) < 3 and draw(st.integers(0, 3)) == 0:
            loop = LoopExtent(len(works) * 10 + len(loops) + 1, draw(st.integers(2, 4)))
            inner = draw(bodies(works, (*loops, loop.loop_id)))
            body.append(Work(loop=loop, body=inner))
            continue
        engine = draw(st.sampled_from(Engine))
        tiles = {
            Engine.LOAD: [INPUTS],
            Engine.EXECUTE: draw(st.sampled_from([[SUMS], [INPUTS, SUMS]])),
            Engine.STORE: [SUMS],
        }[engine]
        all_touched = tuple(touched(some) for some in tiles)
        command = Command(WORK, Operand.of(len(works)), Operand())
        works.append(Touch(engine, all_touched))
        body.append(Work(engine, (command,), all_touched))
    return tuple(body)


def stream(placed: tuple[Placed, ...], loops: Mapping[int, int]) -> Iterator[tuple[Command, dict]]:
    """Commands as they run, with the values of the loops around."""
    for one in placed:
        if isinstance(one, PlacedLoop):
            for index in range(one.loop.extent):
                yield from stream(one.body, {**loops, one.loop.loop_id: index})
        else:
            for command in one.nodes():
                assert isinstance(command, Command)
                yield command, dict(loops)


def engine_of(command: isa.Transfer) -> Engine:
    if isinstance(command, isa.Store):
        return Engine.STORE
    assert isinstance(command, isa.Load)
    return Engine.LOAD if command.is_of_load_engine else Engine.EXECUTE


NEXT = {Engine.LOAD: Engine.EXECUTE, Engine.EXECUTE: Engine.STORE}
PREVIOUS = {second: first for first, second in NEXT.items()}


def check(placed: tuple[Placed, ...], works: list[Touch]) -> None:
    """Each engine knows how many commands of each are over when it begins one; see the simulator's
    `tokens.h`. What conflicts has to be over."""
    clocks = {engine: dict.fromkeys(Engine, 0) for engine in Engine}
    queues: dict[tuple[Engine, Engine], deque] = {}
    done: list[tuple[Engine, int, list[Touched]]] = []
    for command, loops in stream(placed, {}):
        if command.funct == WORK:
            engine, touched = works[command.rs1.base]
            values = {key: Linear(value) for key, value in loops.items()}
            now = [Touched(t.tile, t.version.substitute(values)) for t in touched]
            clock = clocks[engine]
            for other, number, before in done:
                # The ALU's part of a store follows the steps; what it waits for is not here.
                ordered_by_itself = other is engine or {other, engine} == {
                    Engine.LOAD,
                    Engine.STORE,
                }
                if ordered_by_itself or (engine is Engine.STORE and other is Engine.EXECUTE):
                    continue
                if any(mine.conflicts(theirs) for mine in now for theirs in before):
                    assert clock[other] > number
            done.append((engine, clock[engine], now))
        else:
            token = isa.COMMANDS.decode(command.funct, command.rs1.base, command.rs2.base)
            assert isinstance(token, isa.Transfer) and token.x_size == 0
            engine = engine_of(token)
            clock = clocks[engine]
            for takes, giver in (
                (token.pop_prev, PREVIOUS.get(engine)),
                (token.pop_next, NEXT.get(engine)),
            ):
                if takes:
                    given = queues[giver, engine].popleft()  # there is one, as the order is
                    clocks[engine] = clock = {e: max(clock[e], given[e]) for e in Engine}
        clock[engine] += 1
        if command.funct != WORK:
            for gives, taker in (
                (token.push_prev, PREVIOUS.get(engine)),
                (token.push_next, NEXT.get(engine)),
            ):
                if gives:
                    queues.setdefault((engine, taker), deque()).append(dict(clock))
    assert not any(queues.values()), "tokens are left"
    # FINISH, a command of the compute engine, follows all that does something.
    for engine, number, _ in done:
        assert clocks[Engine.EXECUTE][engine] > number


@given(st.data())
def test_what_conflicts_is_ordered(data: st.DataObject) -> None:
    works: list[Touch] = []
    body = data.draw(bodies(works))
    check(ordered(body), works)


def test_a_load_ahead_keeps_nobody_waiting() -> None:
    """Two versions: the token for a tile's steps is given before the next tile's load."""
    load, steps = ([Touched(INPUTS[0], Linear(version)) for version in (0, 1)] for _ in range(2))
    named = [Command(WORK, Operand.of(index), Operand()) for index in range(4)]
    body = (
        Work(Engine.LOAD, (named[0],), (load[1],)),
        Work(Engine.EXECUTE, (named[1],), (steps[0],)),
        Work(Engine.LOAD, (named[2],), (load[0],)),
        Work(Engine.EXECUTE, (named[3],), (steps[1],)),
    )
    (loop,) = (
        one
        for one in ordered([Work(loop=LoopExtent(1, 9), body=body)])
        if isinstance(one, PlacedLoop)
    )
    texts = [
        one.rs1.base
        if one.funct == WORK
        else str(isa.COMMANDS.decode(one.funct, one.rs1.base, one.rs2.base))
        for one, _ in stream(loop.body, {})
    ]
    gives, takes = "load  push_next, memory=inp", "load  pop_prev, memory=uop"
    frees, waits = "load  push_prev, memory=uop", "load  pop_next, memory=inp"
    # What the iteration before has loaded, and read, is told of at the start.
    assert texts == [frees, gives, waits, 0, gives, takes, 1, frees, waits, 2, takes, 3]
