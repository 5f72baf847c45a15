"""A program run for a report: what is told adds up, and bounds hold."""

from __future__ import annotations

import numpy as np
import pytest
from sim.streams import copy_program

from npu_target.codegen_tir import build_program
from npu_target.device import kind_of, preset
from npu_target.device_api import program_cycles
from npu_target.html_report.bounds import bounds
from npu_target.html_report.lanes import MOST_INTERVALS, lanes
from npu_target.html_report.memory_rows import memory_maps
from npu_target.html_report.reasons import reasons_over_time
from npu_target.html_report.runs import run
from npu_target.html_report.slices import DTYPE, SliceKeeper
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Add, Conv2d, Matmul, MaxPool2d

GEMMINI, VTA = preset("gemmini-16x16"), preset("vta-1x16x16")
OPERATORS = {
    "add": Add(rows=49, cols=64, dim=16, scale=0.5),
    "matmul": Matmul(batch=1, m=40, k=64, n=32),
    "conv2d": Conv2d(1, 14, 14, 32, 32, 3, 3, (1, 1), (1, 1, 1, 1)),
    "max_pool2d": MaxPool2d(1, 14, 14, 32, 2, 2),
}


def program_of(name: str, config):
    operator = OPERATORS[name].kernel()
    func = default_schedule(operator, config).mod["main"]
    return build_program(func, config, operator.name), operator


@pytest.fixture(params=OPERATORS)
def ran(request):
    program, operator = program_of(request.param, GEMMINI)
    return run(program), program, operator


def test_it_is_the_run_that_schedules_are_measured_by(ran):
    found, program, operator = ran
    assert found.cycles == program_cycles(program.to_bytes())
    assert found.counts["macs"] >= operator.macs  # biases are added by the array, too


def test_every_cycle_of_a_column_has_one_reason(ran):
    found, _, _ = ran
    shown = reasons_over_time(found.slices, kind_of(GEMMINI).profile, found.cycles)
    parts = np.array(list(shown["cycles"].values()))
    np.testing.assert_allclose(parts.sum(axis=0), np.diff(shown["edges"]), atol=0.5)
    for key, cycles in found.breakdown.items():
        assert sum(shown["cycles"].get(key, [0])) == pytest.approx(cycles, abs=0.05 * 240 + 0.1)


def test_lanes_are_busy_within_the_run(ran):
    found, _, _ = ran
    shown = {lane["name"]: lane for lane in lanes(found.slices, kind_of(GEMMINI).profile)}
    assert shown["load"]["pieces"] and shown["store"]["pieces"]
    for lane in shown.values():
        assert len(lane["spans"]) <= 2 * MOST_INTERVALS
        assert 0 <= lane["busy"] <= sum(lane["spans"]) <= found.cycles
        if not lane["merged"]:
            assert lane["busy"] == sum(lane["spans"][1::2])


def test_no_run_is_below_its_bounds(ran):
    found, _, operator = ran
    least = bounds(found, operator.macs, GEMMINI)
    assert list(least.cycles) == ["array", "memory", "host"]
    assert least.link in {link.title for link in GEMMINI.links}
    for name, cycles in least.cycles.items():
        assert cycles <= found.cycles, name
    assert least.cycles[least.largest] == max(least.cycles.values()) > 0


def test_a_copy_has_the_rows_of_one_block_in_use():
    program = copy_program()
    found = run(program)
    spad, sums = memory_maps(found.slices, kind_of(GEMMINI).profile, GEMMINI, found.cycles)
    assert (spad["most"], sums["most"]) == (16, 0)
    assert 0 < spad["average"] <= 16 and sums["average"] == 0
    assert set("".join(spad["levels"][1:])) == {"0"}


@pytest.mark.long
def test_a_device_that_records_nothing_has_counts_and_bounds_alone():
    program, operator = program_of("conv2d", VTA)
    found = run(program)
    assert found.cycles == program_cycles(program.to_bytes())
    assert (found.slices, dict(found.breakdown)) == (None, {})
    least = bounds(found, operator.macs, VTA)
    assert 0 < least.cycles["array"] <= found.cycles
    assert 0 < least.cycles["memory"] <= found.cycles
    assert 0 < least.cycles["host"] <= found.cycles


def test_slices_are_kept_up_to_as_many_as_there_is_room_for():
    slices = np.zeros(10, DTYPE)
    slices["start"] = np.arange(10)
    keeper = SliceKeeper(most=14)
    assert keeper.receive(slices.tobytes()) and keeper.cut_at is None
    slices["start"] += 10
    assert not keeper.receive(slices.tobytes())
    assert keeper.cut_at == 14
    assert keeper.slices["start"].tolist() == list(range(14))
