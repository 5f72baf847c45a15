"""The table of a layer's schedule."""

from __future__ import annotations

from rich.console import Console

from npu_target.codegen.operations import Engine
from npu_target.codegen.report import BEFORE, TOO_LONG, Entry
from npu_target.device import preset
from npu_target.topi import Matmul
from npu_target.tuning.explain_schedule import explain_schedules, placement_table, summary
from npu_target.tuning.layers import Layer
from npu_target.tuning.report import FORCED, LayerResult
from npu_target.tuning.schedules import routed_schedule

ENTRIES = [
    Entry(1, Engine.EXECUTE, "steps", 64, 512.0),
    Entry(1, Engine.LOAD, "x to scratchpad", 3, 1393.4, "between its own steps, loop of 4"),
    Entry(1, Engine.LOAD, "x to scratchpad", 1, 131.2, BEFORE, "no steps before", 131.2),
    Entry(1, Engine.LOAD, "all of them", 0, 0.0, "between the steps", TOO_LONG, 881.4),
    Entry(
        2, Engine.STORE, "out from accumulator", 2, 8.0, "late, between the steps behind its own"
    ),
]


def lines_of(entries: list[Entry]) -> list[list[str]]:
    console = Console(width=200, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(placement_table("a layer", entries))
    rows = [line for line in captured.get().splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]


def test_a_row_for_each_entry():
    rows = lines_of(ENTRIES)
    assert rows[0] == ["1", "execute", "steps", "64", "512", "", "", ""]
    assert rows[1][3:] == ["3", "1,393", "between its own steps, loop of 4", "", ""]
    assert rows[2][5:] == [BEFORE, "no steps before", "131"]
    # An excess has no commands of its own.
    assert rows[3][3:] == ["", "", "between the steps", TOO_LONG, "881"]
    assert [row[0] for row in rows] == ["1", "1", "1", "1", "2"]


def test_copies_without_steps_have_no_nest():
    (row,) = lines_of([Entry(0, Engine.STORE, "y from scratchpad", 1, 9.0, BEFORE, "none", 9.0)])
    assert row[0] == "-"


def test_the_summary_adds_what_is_not_hidden():
    assert summary(ENTRIES, 12345) == (
        "of 12,345 cycles at most 1,013 are copies that no steps hide"
    )


def test_of_a_route_it_says_that_the_device_places_it():
    device, operator = preset("gemmini-16x16"), Matmul(1, 16, 16, 16)
    result = LayerResult(Layer(operator, 1), 2, 1, FORCED, route="loop_ws")
    console = Console(width=200)
    with console.capture() as captured:
        explain_schedules(
            console, [result], device, lambda _: routed_schedule(operator, device, "loop_ws")
        )
    assert captured.get() == "matmul_16x16x16: forced: the device's loop_ws places it\n"
