"""The table of layers, in terminals of any width."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from npu_target.cli.columns import columns
from npu_target.device import preset
from npu_target.device_api import HostCost
from npu_target.topi import Add, Conv2d, DepthwiseConv2d, MaxPool2d
from npu_target.tuning.layer_table import layer_table, print_layers
from npu_target.tuning.layers import Layer
from npu_target.tuning.report import DEFAULT, FORCED, TUNED, LayerResult

CONFIG = preset("gemmini-16x16")
CONV = Layer(Conv2d(1, 16, 16, 16, 16, 1, 1), 3)
RESULTS = [
    LayerResult(CONV, 1000, 400, TUNED, 12),
    LayerResult(Layer(Add(8, 8, 16), 1), 50, 50, DEFAULT),
]
HOST = HostCost(instructions=250, commands=100, loop_bytes=1024, once_bytes=64, once_cycles=20)
STEM = Conv2d(1, 224, 224, 3, 64, 7, 7, (2, 2), (3,) * 4)
LARGE = [
    LayerResult(Layer(STEM, 1), 517209, 517209, DEFAULT),
    LayerResult(
        Layer(DepthwiseConv2d(1, 112, 112, 32, 3, 3, 16, pad=(1,) * 4), 16),
        9876543,
        1234567,
        TUNED,
        host=HOST,
        packed=("weight",),
        is_new=True,
    ),
    LayerResult(Layer(MaxPool2d(1, 112, 112, 64, 3, 2, (1,) * 4), 1), 184549, 184549, DEFAULT),
]


def printed(results, has_host_columns: bool = False, width: int = 120, runner: str = "") -> str:
    console = Console(file=io.StringIO(), width=width)
    print_layers(console, results, CONFIG, has_host_columns, runner)
    return console.file.getvalue()


def cells(results, *arguments, **more) -> dict[str, list[str]]:
    lines = printed(results, *arguments, **more).splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines if line.strip()}


def test_layers_and_the_total():
    rows = cells(RESULTS)
    assert rows[CONV.name] == ["3", "65.5k", "1,000", "400", "2.50x", "64.0%", "tuned", "-"]
    assert rows["total"] == ["4", "196.6k", "3,050", "1,250", "2.44x", "61.4%"]
    assert "0.00 ms on the device at 500 MHz" in printed(RESULTS)


def test_runs_in_sequence_are_a_column_where_there_is_room():
    results = [
        replace(RESULTS[0], in_sequence=(390, 395, 400)),
        replace(RESULTS[1], in_sequence=(41,)),
    ]
    assert "in sequence" not in printed(results) and "in sequence" not in printed(
        RESULTS, width=160
    )
    rows = cells(results, width=160)
    assert rows[CONV.name][4] == "395" and rows["total"][4] == f"{390 + 395 + 400 + 41:,}"
    rows = cells([results[0], RESULTS[1]], width=160)
    assert rows[RESULTS[1].layer.name][4] == "-"


def test_what_this_run_has_found_is_told_from_what_the_logs_had():
    rows = cells([replace(RESULTS[0], is_new=True), RESULTS[1]])
    assert rows[CONV.name][-3:] == ["tuned", "now", "-"]
    routed = replace(RESULTS[0], source=FORCED, route="loop_ws", is_simulated=True)
    assert "forced: loop_ws, simulated" in printed([routed])


def test_what_the_host_does_is_shown_on_request():
    results = [replace(RESULTS[0], host=HOST)]
    assert "1,024" not in printed(results)
    assert cells(results, True, width=160)[CONV.name][-3:] == ["2.5", "1,024", "5.0%"]


def test_packed_arguments_are_named():
    rows = cells([replace(RESULTS[0], packed=("weight",)), replace(RESULTS[1], packed=())])
    assert [row[-1] for row in list(rows.values())[3:5]] == ["weight", "-"]


@pytest.mark.parametrize("runner", ["", "fpga"])
@pytest.mark.parametrize("has_host_columns", [False, True])
@pytest.mark.parametrize("width", [80, 100, 111, 112, 120, 160])
def test_all_of_it_can_be_read(width, has_host_columns, runner):
    if has_host_columns and width < 160:
        pytest.skip("asked for, these columns take what they need")
    text = printed(LARGE, has_host_columns, width, runner)
    assert max(map(len, text.splitlines())) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    lines = text.splitlines()
    end = next(line for line in lines if "count" in line).index("count")
    first_column = "".join(line[:end].strip() for line in lines)
    for result in LARGE:
        assert f"{result.cycles:,}" in text and result.layer.name in first_column
    assert ("9,876,543" in text) == (width >= 112), "the default's are for wide terminals"
    assert "tuned now" in text


def test_help_explains_every_column():
    for is_wide in (False, True):
        table = layer_table(LARGE, CONFIG, True, is_wide=is_wide)
        for column in table.columns[1:]:
            name = str(column.header).replace(chr(10), " ")
            assert f"  {name} " in columns(of_search=True), name
            is_of_search = name in ("host/cmd", "loop code", "once")
            assert (f"  {name} " in columns()) != is_of_search, name
