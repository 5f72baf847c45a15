"""Placement of tiles: nothing overlaps, banks are kept apart while there are enough."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from operator_strategies import devices

from npu_target.device import Memories, Memory
from npu_target.devices.gemmini import GemminiConfig
from npu_target.passes.errors import CodegenError
from npu_target.passes.memory import DoesNotFit, LocalBuffer, Placement, allocate, free_rows

CONFIG = GemminiConfig()
SCRATCHPAD, ACCUMULATOR = (memory.scope for memory in CONFIG.memories.all)
MEMORIES = {SCRATCHPAD: CONFIG.spad_rows, ACCUMULATOR: CONFIG.acc_rows}


def rows_of(buffer: LocalBuffer, placement: Placement) -> list[set[int]]:
    """The rows of each version."""
    inner = buffer.shape[:-1] if buffer.versions == 1 else buffer.shape[1:-1]
    strides = placement.strides if buffer.versions == 1 else placement.strides[1:]
    *lines, rows_of_line = inner
    rows = {
        placement.row + sum(i * stride for i, stride in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, (*lines, rows_of_line + buffer.spare_rows)))
    }
    pitch = placement.strides[0] if buffer.versions > 1 else 0
    return [{row + pitch * version for row in rows} for version in range(buffer.versions)]


def in_use_together(one: LocalBuffer, other: LocalBuffer) -> bool:
    """Whether both are in use at some time."""
    return one.live[0] <= other.live[1] and other.live[0] <= one.live[1]


@st.composite
def tiles(draw, config: GemminiConfig) -> list[LocalBuffer]:
    buffers = []
    for n in range(draw(st.integers(1, 4))):
        versions = draw(st.sampled_from([1, 1, 2, 3]))
        shape = tuple(draw(st.lists(st.integers(1, 12), min_size=1, max_size=3)))
        large = draw(st.sampled_from([1, 1, 20]))
        shape = (*shape[:-1], shape[-1] * large, config.dim)
        first = draw(st.integers(0, 5))
        scope = draw(st.sampled_from([SCRATCHPAD, ACCUMULATOR]))
        stacks = scope == SCRATCHPAD and len(shape) > 2
        buffers.append(
            LocalBuffer(
                f"tile{n}",
                scope,
                shape if versions == 1 else (versions, *shape),
                versions,
                draw(st.booleans()),
                live=(first, first + draw(st.integers(0, 5))),
                spare_rows=draw(st.sampled_from([0, 0, 2, 7])) if stacks else 0,
                halved=versions == 1 and draw(st.booleans()),
            )
        )
    return buffers


@given(st.data())
def test_tiles_in_use_at_once_share_no_row(data):
    config = data.draw(devices)
    buffers = data.draw(tiles(config))
    try:
        placements = allocate(buffers, config)
    except DoesNotFit:
        assume(False)
    for scope, rows in ((SCRATCHPAD, config.spad_rows), (ACCUMULATOR, config.acc_rows)):
        mine = [buffer for buffer in buffers if buffer.scope == scope]
        for buffer in mine:
            versions = rows_of(buffer, placements[buffer.name])
            together = set().union(*versions)
            assert together <= set(range(rows))
            assert len(together) == buffer.rows * buffer.versions
            before = {min(together) - 1 - row for row in range(buffer.spare_rows)}
            assert before <= set(range(rows))
            for other in mine:
                if in_use_together(buffer, other):
                    assert before.isdisjoint(set().union(*rows_of(other, placements[other.name])))
        for one, other in itertools.combinations(mine, 2):
            if in_use_together(one, other):
                taken = set().union(*rows_of(one, placements[one.name]))
                assert taken.isdisjoint(set().union(*rows_of(other, placements[other.name])))


@given(st.data())
def test_free_rows_are_all_that_no_tile_has_bank_by_bank(data):
    config = data.draw(devices)
    buffers = data.draw(tiles(config))
    try:
        placements = allocate(buffers, config)
    except DoesNotFit:
        assume(False)
    for memory in config.memories.all:
        used: set[int] = set()
        for buffer in buffers:
            if buffer.scope == memory.scope:
                for rows in rows_of(buffer, placements[buffer.name]):
                    used |= rows | {min(rows) - 1 - row for row in range(buffer.spare_rows)}
        found = free_rows(buffers, placements, memory)
        listed = [row for rows in found for row in rows]
        assert listed == sorted(set(range(memory.rows)) - used)
        for rows in found:
            assert rows.start // memory.bank_rows == (rows.stop - 1) // memory.bank_rows
        for before, after in itertools.pairwise(found):
            assert before.stop < after.start or after.start % memory.bank_rows == 0


def banks(buffer: LocalBuffer, placements: dict[str, Placement]) -> list[set[int]]:
    rows = rows_of(buffer, placements[buffer.name])
    return [{row // CONFIG.spad_bank_rows for row in version} for version in rows]


def operands(a_rows: int, b_rows: int, versions: int) -> tuple[LocalBuffer, LocalBuffer]:
    def shape(rows: int) -> tuple[int, ...]:
        return (rows, CONFIG.dim) if versions == 1 else (versions, rows, CONFIG.dim)

    return (
        LocalBuffer("a", SCRATCHPAD, shape(a_rows), versions),
        LocalBuffer("b", SCRATCHPAD, shape(b_rows), versions, stationary=True),
    )


def test_versions_and_operands_have_banks_of_their_own():
    a, b = operands(CONFIG.spad_bank_rows, CONFIG.spad_bank_rows, versions=2)
    placements = allocate([b, a], CONFIG)
    used = [*banks(a, placements), *banks(b, placements)]
    assert sorted(itertools.chain.from_iterable(used)) == [0, 1, 2, 3]


@pytest.mark.parametrize("blocks", [2, 6, 12])
def test_halves_have_banks_of_their_own(blocks):
    rows = CONFIG.spad_bank_rows // 8
    a = LocalBuffer("a", SCRATCHPAD, (blocks, rows, CONFIG.dim), halved=True)
    b = LocalBuffer("b", SCRATCHPAD, (2, rows, CONFIG.dim), 2, stationary=True)
    placement = allocate([b, a], CONFIG)["a"]
    middle = placement.row + blocks // 2 * rows
    assert middle % CONFIG.spad_bank_rows == 0
    assert placement.strides == (rows, 1)


def test_operands_are_kept_apart_where_versions_cannot_be():
    a, b = operands(CONFIG.spad_bank_rows // 2 + 1, CONFIG.spad_bank_rows // 4, versions=3)
    placements = allocate([a, b], CONFIG)
    of_a, of_b = (set().union(*banks(x, placements)) for x in (a, b))
    assert of_a.isdisjoint(of_b)


def test_tiles_are_packed_when_they_have_to_be():
    rows = CONFIG.spad_rows
    a, b = operands(rows - 100, 100, versions=1)
    assert set(allocate([a, b], CONFIG)) == {"a", "b"}


@pytest.mark.parametrize("scope", [SCRATCHPAD, ACCUMULATOR])
def test_what_does_not_fit_is_said_in_full(scope):
    rows = MEMORIES[scope]
    a, b = (replace(x, scope=scope) for x in operands(rows - 10, 11, versions=1))
    memory = scope.rpartition(".")[2]
    with pytest.raises(DoesNotFit) as error:
        allocate([a, b], CONFIG)
    assert str(error.value) == (
        f"tiles need {rows + 1} rows of the {memory} (a 1 x {rows - 10}, b 1 x 11), "
        f"gemmini-16x16 has {rows}; use smaller tiles or single buffering"
    )


def test_tiles_used_one_after_the_other_share_the_memory():
    a, b = operands(CONFIG.spad_rows, CONFIG.spad_rows, versions=1)
    placements = allocate([replace(a, live=(0, 1)), replace(b, live=(2, 3))], CONFIG)
    assert placements["a"].row == placements["b"].row == 0


def test_rows_of_another_width_are_refused():
    tile = LocalBuffer("a", SCRATCHPAD, (4, CONFIG.dim + 1))
    with pytest.raises(CodegenError, match=r"tile a has rows of 17 elements, .* has 16"):
        allocate([tile], CONFIG)


@pytest.mark.parametrize(("rows", "versions"), [(513, 1), (340, 3), (600, 1)])
def test_a_pooled_tile_lies_within_a_bank(rows, versions):
    shape = (versions, rows, CONFIG.dim) if versions > 1 else (rows, CONFIG.dim)
    tile = LocalBuffer("a", ACCUMULATOR, shape, versions)
    if rows * versions <= CONFIG.acc_rows:
        allocate([tile], CONFIG)
    with pytest.raises(DoesNotFit, match=r"pooled tile a .*over the end of a bank"):
        allocate([replace(tile, pooled=True)], CONFIG)


def test_two_versions_of_a_pooled_tile_take_a_bank_each():
    tile = LocalBuffer("a", ACCUMULATOR, (2, 400, CONFIG.dim), 2, pooled=True)
    assert allocate([tile], CONFIG)["a"].strides == (CONFIG.acc_bank_rows, 1)


@dataclass(frozen=True)
class ThreeMemories(GemminiConfig):
    """A device with a memory for each operand of its step."""

    @cached_property
    def memories(self) -> Memories:
        inputs, sums = super().memories.inputs, super().memories.sums
        weights = Memory("global.weights", "weight buffer", 300, 100, self.dim, "int8")
        return Memories(inputs, weights, sums)


def test_each_operand_may_have_a_memory_of_its_own():
    device = ThreeMemories()
    inputs, weights, sums = device.memories.all
    tiles = [
        LocalBuffer("a", inputs.scope, (2, 70, device.dim), 2),
        LocalBuffer("b", weights.scope, (2, 90, device.dim), 2, stationary=True),
        LocalBuffer("c", sums.scope, (70, device.dim)),
    ]
    placements = allocate(tiles, device)
    assert [placements[name].row for name in "abc"] == [0, 0, 0]
    assert placements["b"].strides == (100, 1), "each version in a bank of its own memory"
    assert not placements["a"].overlaps(placements["b"])
    with pytest.raises(DoesNotFit, match=r"tiles need 302 rows of the weight buffer .b 2 x 151., "):
        allocate([replace(tiles[1], shape=(2, 151, device.dim))], device)
