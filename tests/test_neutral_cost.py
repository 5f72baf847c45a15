"""A device that says nothing of costs: defaults, bounds and features, found all the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule
from operator_strategies import devices, operators
from tvm.s_tir import Schedule

from npu_target import topi
from npu_target.codegen_tir import DoesNotFit, build_program
from npu_target.device import preset, registry
from npu_target.device_api import host_cost
from npu_target.devices.gemmini import GEMMINI
from npu_target.devices.gemmini.program_work import ProgramWork
from npu_target.neutral_cost import COST
from npu_target.schedule_rules import default, default_schedule, designs
from npu_target.topi.mac_shape import TILED
from npu_target.topi.mac_structure import MacStructure
from npu_target.tuning.choose import cycles_of

CONFIG = preset("gemmini-16x16")
SILENT = replace(GEMMINI, cost_at="npu_target.neutral_cost:COST")
LAYERS = [
    topi.Conv2d(1, 14, 14, 64, 64, 3, 3, (1, 1), (1, 1, 1, 1)),
    topi.DepthwiseConv2d(1, 28, 28, 48, 3, 3, CONFIG.dim, (1, 1), (1, 1, 1, 1)),
    topi.Matmul(1, 196, 128, 256),
    topi.Add(784, 40, CONFIG.dim),
    topi.MaxPool2d(1, 28, 28, 32, 3, 2, (1, 1, 1, 1)),
    topi.GlobalAvgPool(1, 7, 7, 96, CONFIG.dim),
]


@pytest.fixture
def silent(monkeypatch):
    """Gemmini, without its costs."""
    assert SILENT.cost is COST
    monkeypatch.setattr(registry, "kinds", lambda: {"gemmini": SILENT})
    monkeypatch.setattr(default, "_chosen", {})


def default_program(operator: topi.Operator):
    func = default_schedule(operator, CONFIG).mod["main"]
    return build_program(func, CONFIG, operator.name)


@pytest.mark.long
@pytest.mark.parametrize("operator", LAYERS, ids=lambda operator: operator.op)
def test_the_simulator_finds_a_default_that_is_nearly_as_good(operator, silent, monkeypatch):
    operator = operator.kernel()
    schedule = default_schedule(operator, CONFIG)
    check_schedule(operator, schedule, CONFIG, 1)
    cycles = cycles_of(build_program(schedule.mod["main"], CONFIG, operator.name))
    monkeypatch.undo()
    monkeypatch.setattr(default, "_chosen", {})
    assert cycles <= 1.1 * cycles_of(default_program(operator))


@settings(max_examples=8)
@given(st.data(), devices, st.integers(1, 2**30))
def test_no_run_is_below_its_bound(data, config, seed):
    operator = data.draw(st.one_of(list(operators(config).values()))).canonical()
    start = Schedule(operator.prim_func(config), seed=seed)
    design = data.draw(st.sampled_from(designs(start, operator, config, "template")))
    try:
        program = build_program(design.schedule.mod["main"], config, operator.name)
    except DoesNotFit:
        return
    work = COST.work(program, operator)
    assert 0 < work.least_cycles <= cycles_of(program)
    assert COST.least_cycles(operator, config) <= cycles_of(program)
    assert np.isfinite(work.features()).all()


def test_counts_are_those_of_commands():
    """The sums over kinds are all commands, as a kind that knows its commands counts them."""
    operator = LAYERS[2]
    program = default_program(operator)
    counts, known = COST.work(program, operator), ProgramWork.of(program, operator).likely
    assert sum(counts.mnemonics.values()) == known["commands"]
    loads = sum(counts.mnemonics[name] for name in ("mvin", "mvin2", "mvin3"))
    assert (loads, counts.mnemonics["mvout"]) == (known["loads"], known["stores"])
    a, b, bias, out = counts.arguments
    assert a + b + bias + known["zero_loads"] == known["loads"] and out == known["stores"]
    assert counts.iterations == known["iterations"]
    assert counts.host == host_cost(program.to_bytes())


@pytest.mark.long
def test_features_are_as_many_for_all_operators():
    rows = [COST.work(default_program(layer), layer).features() for layer in LAYERS]
    assert len({row.shape for row in rows}) == 1
    assert len({row.tobytes() for row in rows}) == len(rows)


def test_larger_tiles_move_fewer_rows():
    """And what overlaps takes no longer than what does not."""
    operator = LAYERS[0]
    tiles, shape = COST.tiles(operator, CONFIG), operator.mac_shape(CONFIG)
    whole = {name: np.full(3, shape.extent(name)) for name in TILED}
    tile = {**whole, "lines": np.array([1, 7, 14])}
    structure = MacStructure("inputs_kept")
    alone = tiles.cycles(replace(structure, pipelined=False), tile)
    assert alone[0] > alone[1] > alone[2] > 0
    overlapped = tiles.cycles(structure, tile)
    assert (alone >= overlapped).all() and (overlapped > 0).all()
    assert tiles.least_cycles(structure, {name: 1 for name in TILED}) == 0
