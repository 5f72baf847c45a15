"""What a compilation tells of its schedule: every command once, and why steps do not hide some."""

from __future__ import annotations

from collections import Counter

import pytest
from kernel_runs import kernel_schedule
from tvm.s_tir import Schedule
from tvm.script import tirx as T

from npu_target import topi
from npu_target.codegen.report import (
    BEFORE,
    BEHIND,
    EARLY,
    FIRST_BLOCK,
    LAST_BLOCK,
    NO_OVERLAP,
    NO_STEPS_BEFORE,
    NO_STEPS_BEHIND,
    PHASES,
    PROGRAM_ORDER,
    TOO_LONG,
    Entry,
    ScheduleReport,
)
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.isa import COMMANDS
from npu_target.pipeline_options import DEFAULT, PipelineOptions
from npu_target.schedule_rules import default_schedule
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

CONFIG = preset("gemmini-8x8")
D = CONFIG.dim
SPAD, ACC = "global.scratchpad", "global.accumulator"
ENGINES = {"mvin": "load", "mvout": "store", "preload": "execute", "compute": "execute"}


def counts_of(program) -> Counter[str]:
    """How many commands of each engine the expanded program has."""
    addresses = {arg.name: (index + 1) << 28 for index, arg in enumerate(program.args)}
    names = [str(COMMANDS.decode(*words)).split()[0] for words in program.expand(addresses)]
    found = [engine for name in names for key, engine in ENGINES.items() if name.startswith(key)]
    return Counter(found)


def told(entries: list[Entry]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for entry in entries:
        counts[entry.engine.value] += entry.commands
    return counts


@pytest.mark.long
@pytest.mark.parametrize(
    "operator",
    [
        topi.Conv2d(1, 6, 16, 20, 10, 3, 3, (2, 2), (1, 1, 1, 1), True, True, 0.25),
        topi.Conv2d(1, 7, 7, 32, 32, 3, 3, (1, 1), (1, 1, 1, 1)),
        topi.Matmul(2, 40, 128, 24),
        topi.DepthwiseConv2d(1, 9, 9, 20, 3, 3, D, (1, 1), (1, 1, 1, 1)),
        topi.Add(20, 32, D, True, 0.25),
    ],
    ids=lambda operator: operator.name,
)
def test_every_command_is_told_once(operator):
    """Whatever the structure: copies interleaved with several loops, phases made again."""
    for template in operator.kernel().templates(CONFIG):
        schedule = kernel_schedule(operator, CONFIG, seed=1)
        template(schedule)
        report = ScheduleReport()
        program = build_program(schedule.mod["main"], CONFIG, operator.name, report)
        assert told(report.entries) == counts_of(program)


def test_a_report_changes_nothing():
    operator = topi.Matmul(1, 40, 64, 24)
    func = default_schedule(operator, CONFIG).mod["main"]
    report = ScheduleReport()
    assert build_program(func, CONFIG, "x", report) == build_program(func, CONFIG, "x")


def entries_of(operator: topi.Operator, structure: MacStructure, **tiles: list[int]):
    schedule = kernel_schedule(operator, CONFIG, seed=1)
    schedule_mac(schedule, structure, tiles)
    report = ScheduleReport()
    build_program(schedule.mod["main"], CONFIG, operator.name, report)
    return report.entries


def test_the_first_loads_and_the_last_store_find_no_steps():
    """Four tiles of one product: of the loads only the first tile's first blocks are not hidden."""
    entries = entries_of(
        topi.Matmul(1, 4 * D, 2 * D, D, bias=False),
        MacStructure(kept=True, two_sums=True),
        blocks=[1, 1],
        steps=[4, 1],
    )
    loads = [entry for entry in entries if entry.engine.value == "load" and entry.commands]
    exposed = [entry for entry in loads if entry.reason]
    assert {entry.place for entry in exposed} == {BEFORE}
    assert {entry.reason for entry in exposed} <= {
        EARLY,
        NO_STEPS_BEFORE,
        f"{FIRST_BLOCK}; {NO_STEPS_BEFORE}",
    }
    assert {entry.what for entry in exposed} == {"a to scratchpad", "b to scratchpad"}
    assert all(entry.exposed_cycles == entry.cycles > 0 for entry in exposed)
    hidden = [entry for entry in loads if not entry.reason]
    assert sum(entry.commands for entry in hidden if entry.what.startswith("a")) >= 3
    assert not any(entry.exposed_cycles for entry in hidden)
    (last,) = [entry for entry in entries if entry.place == BEHIND]
    assert (last.what, last.commands) == ("out from accumulator", 1)
    assert last.reason == f"{LAST_BLOCK}; {NO_STEPS_BEHIND}"


def test_rows_of_which_an_edge_cuts_off_some_are_loaded_between_the_steps():
    """Four tiles beside each other, in one loop with those below: how many pixels of a line are
    padding differs from one iteration to the next, and a line is two loads."""
    entries = entries_of(
        topi.DepthwiseConv2d(1, 8 * D, 8 * D, D, 3, 3, D, (2, 2), (1, 1, 1, 1)),
        MacStructure(kept=True, two_sums=True),
        blocks=[1, 1],
        lines=[D, 4],
        steps=[4, 1],
        kernel_h=[1, 3],
        kernel_w=[1, 3],
    )
    assert not any("at once" in entry.reason for entry in entries)
    hidden = [entry for entry in entries if entry.what.startswith("x to") and not entry.reason]
    assert sum(entry.commands for entry in hidden) > 2 * 9 * 4 * (D - 1)


def added(*, in_order: bool) -> Schedule:
    """An addition in tiles of 4 blocks of channels."""
    config = GemminiConfig()
    schedule = Schedule(topi.Add(49, 512, config.dim, scale=0.01).prim_func(config))
    structure = MacStructure(
        kept=True, two_sums=True, wide=True, step_order="kernel_first", in_order=in_order
    )
    schedule_mac(schedule, structure, {"blocks": [8, 4], "steps": [4, 1]})
    return schedule


def test_a_schedule_in_program_order_says_so():
    """Not that the compiler overlaps nothing: the device does."""
    report = ScheduleReport()
    program = build_program(
        added(in_order=True).mod["main"], GemminiConfig(), "add", report, DEFAULT
    )
    copies = [entry for entry in report.entries if entry.engine.value != "execute"]
    assert {entry.reason for entry in copies} == {PROGRAM_ORDER}
    assert told(report.entries) == counts_of(program)
    plain = ScheduleReport()
    func = added(in_order=False).mod["main"]
    build_program(func, GemminiConfig(), "add", plain, PipelineOptions.parse("O2,-overlap"))
    assert {entry.reason for entry in plain.entries if entry.place} == {NO_OVERLAP}


def test_copies_that_take_longer_than_the_steps_are_told():
    """An addition: two steps for what two loads bring."""
    report = ScheduleReport()
    config = GemminiConfig()
    build_program(added(in_order=False).mod["main"], config, "add", report)
    entries = report.entries
    long = [e for e in entries if e.reason == TOO_LONG and e.engine.value == "load"]
    assert len(long) == 1
    nest = [entry for entry in entries if entry.nest == long[0].nest and not entry.reason]
    loads = sum(entry.cycles for entry in nest if entry.engine.value == "load")
    steps = sum(entry.cycles for entry in nest if entry.engine.value == "execute")
    assert long[0].exposed_cycles == pytest.approx(loads - steps) and loads > steps


@T.prim_func(s_tir=True)
def stores_of_the_last_ones(
    x: T.Buffer((12 * D, D), "int8"),
    w: T.Buffer((D, D), "int8"),
    y: T.Buffer((12 * D, D), "int32"),
):
    a = T.alloc_buffer((D, D), "int8", scope=SPAD)
    b = T.alloc_buffer((D, D), "int8", scope=SPAD)
    acc = T.alloc_buffer((D, D), "int32", scope=ACC)
    for r, c in T.grid(D, D):
        b[r, c] = w[r, c]
    for late in range(12):
        for r, c in T.grid(D, D):
            a[r, c] = x[late * D + r, c]
        for r, c in T.grid(D, D):
            acc[r, c] = 0
        T.evaluate(
            T.call_extern(
                "int32",
                "npu.gemm",
                T.address_of(a[0, 0]),
                T.address_of(b[0, 0]),
                T.address_of(acc[0, 0]),
                D,
                1,
            )
        )
        if late >= 6:
            for r, c in T.grid(D, D):
                y[late * D + r, c] = acc[r, c]


def test_a_loop_that_is_not_steady_is_named_with_what_it_costs():
    """Iterations before the sixth leave no store, so none overlaps with the next."""
    report = ScheduleReport()
    build_program(stores_of_the_last_ones, CONFIG, "late", report)
    exposed = {entry.what: entry for entry in report.entries if entry.reason}
    for what, commands in (("x to scratchpad", 12), ("y from accumulator", 12)):
        assert exposed[what].commands == commands
        assert "loop late is not steady" in exposed[what].reason
        assert exposed[what].exposed_cycles == exposed[what].cycles > 0


def test_parts_for_which_settings_do_not_suffice_are_told_apart():
    """Windows of a padded image have strips with strides of their own: more than three."""
    report = ScheduleReport()
    operator = topi.Conv2d(1, 40, 40, 3, 16, 7, 7, (2, 2), (3, 3, 3, 3))
    config = GemminiConfig()
    func = default_schedule(operator.kernel(), config).mod["main"]
    program = build_program(func, config, operator.name, report)
    apart = [entry for entry in report.entries if PHASES in entry.reason]
    assert apart and all(entry.exposed_cycles == entry.cycles for entry in apart)
    assert told(report.entries) == counts_of(program)
