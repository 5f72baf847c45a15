"""Where copies go between the steps of a nest, command by command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from codegen_streams import Step, steps_and_copies
from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen.dependences import Touched
from npu_target.codegen.operations import CopyKind, CopyOperation, Engine, LoopIds
from npu_target.codegen.parts import Copy
from npu_target.codegen.placed import Placed, PlacedCopy, PlacedLoop, emitted
from npu_target.codegen.placement import Placer
from npu_target.codegen.report import NoReport
from npu_target.codegen.steps import Step as DeviceStep
from npu_target.codegen.steps import Steps
from npu_target.device import preset
from npu_target.device.commands import DeviceCommand
from npu_target.devices.gemmini.copies import Move
from npu_target.devices.gemmini.gemm import Gemm
from npu_target.devices.gemmini.isa import LocalAddress, Mvin, Mvout
from npu_target.passes.linear import Linear
from npu_target.passes.memory import Placement

CONFIG = preset("gemmini-8x8")
DIM = CONFIG.dim
SPAD, ACC = "global.scratchpad", "global.accumulator"
# The tiles of the operands and of the sums, and two that the steps do not touch.
A, B, C = (Placement(s, row, row + 1000, ()) for s, row in ((SPAD, 0), (SPAD, 1000), (ACC, 0)))
OTHERS = Placement(ACC, 1000, 2000, ()), Placement(SPAD, 3000, 4000, ())
TOUCHED = [Touched(tile, Linear()) for tile in (A, B, C)]
QUEUES = {Engine.LOAD: CONFIG.ld_queue_entries, Engine.STORE: CONFIG.st_queue_entries}
# Rows between iterations.
PITCHES = st.sampled_from([0, DIM, DIM, 2 * DIM, 3 * DIM, 5 * DIM])
Row = tuple[str, int]


def device_step(first_rows: Sequence[Linear], rows: int) -> DeviceStep:
    gemm = Gemm(CONFIG)
    return DeviceStep(gemm, gemm.operands(rows, 1), tuple(first_rows))


class Case(NamedTuple):
    """A nest of steps, and copies that go into it."""

    steps: Steps
    ids: LoopIds
    due: list[Copy]
    free: list[Copy]
    after: list[Copy]

    def place(self) -> list[Step | DeviceCommand]:
        """Steps and copies in the order in which the device gets them."""
        placer = self.placer()
        return steps_and_copies(emitted(placer.place(self.due, self.free, self.after)), CONFIG)

    def placer(self) -> Placer:
        return Placer(self.steps, TOUCHED, QUEUES, self.ids, NoReport())


@st.composite
def copies(draw: st.DrawFn, ids: LoopIds, index: int, tiles: Sequence[Placement]) -> Copy:
    """A copy of which each command has an address of its own."""
    tile = draw(st.sampled_from(tiles))
    loops = [ids.loop(extent) for extent in draw(st.lists(st.integers(2, 12), max_size=2))]
    is_load = tile.scope == SPAD or draw(st.booleans())
    flags = LocalAddress(0, accumulator=tile.scope == ACC)
    engine, move = (Engine.LOAD, Mvin) if is_load else (Engine.STORE, Mvout)
    memory = CONFIG.memories.find(tile.scope)
    kind = CopyKind(engine, is_load, memory, int(not is_load), DIM, DIM, Move(move, flags))
    row = Linear.of(
        tile.row + draw(st.integers(0, 12)) * DIM // 2, {x.loop_id: draw(PITCHES) for x in loops}
    )
    address, by = {}, 1
    for loop in loops:
        address[loop.loop_id], by = by, by * loop.extent
    rows, columns = draw(st.integers(1, DIM)), draw(st.sampled_from([3, DIM, 2 * DIM]))
    operation = CopyOperation(
        kind, tuple(loops), row, Linear.of(256 * (index + 1), address), Linear(rows),
        Linear(columns), rows, columns, (), draw(st.sampled_from([8.0, 30.0])),
    )  # fmt: skip
    return Copy(operation, [Touched(tile, Linear())])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    ids = LoopIds()
    loops = tuple(ids.loop(n) for n in draw(st.lists(st.integers(2, 6), min_size=1, max_size=3)))
    forms = [Linear.of(tile.row, {x.loop_id: draw(PITCHES) for x in loops}) for tile in (A, B, C)]
    rows = draw(st.integers(1, 2 * DIM))
    steps = Steps(device_step(forms, rows), loops, draw(st.booleans()))

    def some(first: int, tiles: Sequence[Placement], most: int) -> list[Copy]:
        return [draw(copies(ids, first + i, tiles)) for i in range(draw(st.integers(0, most)))]

    return Case(steps, ids, some(0, (A, B, C), 2), some(10, OTHERS, 3), some(20, (A, B, C), 2))


def words(operation: CopyOperation) -> list[int]:
    """The addresses of each command."""
    addresses = [operation.dram_bytes.const]
    for loop in operation.loops:
        by = operation.dram_bytes.coefficient(loop.loop_id)
        addresses = [at + by * i for at in addresses for i in range(loop.extent)]
    return addresses


def address(command: DeviceCommand) -> int:
    assert isinstance(command, (Mvin, Mvout))
    return command.dram_address % (1 << 32)


def rows_of(item: Step | DeviceCommand, weights: int | None = None) -> set[Row]:
    if isinstance(item, Step):
        assert weights is not None
        return {
            *((SPAD, item.a + i) for i in range(item.rows)),
            *((SPAD, weights + i) for i in range(DIM)),
            *((ACC, item.c + i) for i in range(item.rows)),
        }
    assert isinstance(item, (Mvin, Mvout))
    scope = ACC if item.local.accumulator else SPAD
    blocks = range(-(-item.cols // DIM))
    return {(scope, item.local.row + b * DIM + r) for b in blocks for r in range(item.rows)}


class Uses(NamedTuple):
    first: int
    last: int


def uses(stream: Sequence[Step | DeviceCommand]) -> dict[Row, Uses]:
    """By rows, where the first step and the last one are that touch them."""
    found: dict[Row, Uses] = {}
    weights = None
    for place, item in enumerate(stream):
        if isinstance(item, Step):
            weights = weights if item.weights is None else item.weights
            for row in rows_of(item, weights):
                found[row] = Uses(found[row].first if row in found else place, place)
    return found


def check(case: Case) -> None:
    stream = case.place()
    alone = case._replace(due=[], free=[], after=[]).place()
    assert [item for item in stream if isinstance(item, Step)] == alone
    places = {
        address(item): place for place, item in enumerate(stream) if not isinstance(item, Step)
    }
    everything = [*case.due, *case.free, *case.after]
    wanted = Counter(at for copy in everything for at in words(copy.operation))
    assert Counter(address(item) for item in stream if not isinstance(item, Step)) == wanted
    touched = uses(stream)
    for copy in case.due:
        for at in words(copy.operation):
            place = places[at]
            for row in rows_of(stream[place]) & touched.keys():
                assert place < touched[row].first, f"{stream[place]} is late for {row}"
    for copy in case.after:
        for at in words(copy.operation):
            place = places[at]
            for row in rows_of(stream[place]) & touched.keys():
                assert touched[row].last < place, f"{stream[place]} is early for {row}"


@given(cases())
def test_copies_come_once_and_where_steps_let_them(case: Case) -> None:
    check(case)


def few_steps(case: Case) -> Steps:
    """The steps in one loop of two iterations."""
    loop = case.ids.loop(2)
    b = Linear.of(B.row, {loop.loop_id: DIM})
    step = device_step([Linear(A.row), b, Linear(C.row)], case.steps.step.rows)
    return Steps(step, (loop,), False)


@given(cases(), st.data())
def test_copies_that_follow_others_do(case: Case, data: st.DataObject) -> None:
    """Of what no step touches, some copies follow others of the same tile."""
    if data.draw(st.booleans()):  # few iterations for them
        case = case._replace(steps=few_steps(case), free=[])
    tile = data.draw(st.sampled_from(OTHERS))
    firsts = [data.draw(copies(case.ids, 30 + i, [tile]))._replace(first=True) for i in range(2)]
    lasts = [data.draw(copies(case.ids, 40 + i, [tile]))._replace(last=True) for i in range(2)]
    case = case._replace(free=[*case.free, *firsts, *lasts])
    check(case)
    stream = case.place()
    places = {address(item): at for at, item in enumerate(stream) if not isinstance(item, Step)}

    def by_row(some: Sequence[Copy]) -> dict[Row, list[int]]:
        found: dict[Row, list[int]] = {}
        for copy in some:
            for at in words(copy.operation):
                for row in rows_of(stream[places[at]]):
                    found.setdefault(row, []).append(places[at])
        return found

    before, behind = by_row(firsts), by_row(lasts)
    for row in before.keys() & behind.keys():
        assert max(before[row]) < min(behind[row]), f"{row}: a copy overtakes another one"


@given(cases())
def test_the_rest_of_a_copy_is_what_is_left_out(case: Case) -> None:
    """What follows the last block of rows is issued with the next nest's copies."""
    whole = Counter(at for copy in case.after for at in words(copy.operation))
    left = case._replace(after=[copy._replace(leaves_rest=True) for copy in case.after])
    stream = left.place()
    placer = case.placer()
    rest = [operation for copy in case.after if (operation := placer.rest(copy)) is not None]
    mine = [address(x) for x in stream if not isinstance(x, Step) and address(x) // 256 > 20]
    assert Counter(mine) + Counter(at for operation in rest for at in words(operation)) == whole
    touched = uses(stream)
    for place, item in enumerate(stream):
        if not isinstance(item, Step) and address(item) // 256 > 20:
            for row in rows_of(item) & touched.keys():
                assert touched[row].last < place


def loops_of(placed: Sequence[Placed]) -> list[PlacedLoop]:
    """All loops, from the outermost on."""
    found = [item for item in placed if isinstance(item, PlacedLoop)]
    return [*found, *(loop for outer in found for loop in loops_of(outer.body))]


@given(st.lists(st.integers(2, 6), min_size=1, max_size=3))
def test_a_copy_behind_all_steps_cuts_no_loop(extents):
    """A store of the sums of all steps stands behind their loops, which stay as they are."""

    def placed(*, with_store: bool) -> tuple[Placed, ...]:
        ids = LoopIds()
        loops = tuple(ids.loop(extent) for extent in extents)
        a = Linear.of(A.row, {loop.loop_id: DIM for loop in loops})
        steps = Steps(device_step([a, Linear(B.row), Linear(C.row)], DIM), loops, False)
        move = Move(Mvout, LocalAddress(0, accumulator=True))
        kind = CopyKind(Engine.STORE, False, CONFIG.memories.find(ACC), 1, DIM, DIM, move)
        sizes = Linear(DIM), Linear(DIM), DIM, DIM
        store = CopyOperation(kind, (), Linear(C.row), Linear(), *sizes, (), 8.0)
        after = [Copy(store, [Touched(C, Linear())])] if with_store else []
        return Case(steps, ids, [], [], after).placer().place([], [], after)

    *steps, last = placed(with_store=True)
    alone = placed(with_store=False)
    assert isinstance(last, PlacedCopy)
    assert [x.loop.extent for x in loops_of(steps)] == [x.loop.extent for x in loops_of(alone)]
