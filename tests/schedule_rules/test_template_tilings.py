"""An operator that is no multiply-accumulate and no pool: nothing is known of it but its templates,
and it has a default, spaces, and a search."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from kernel_runs import run_program
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace
from tvm.script import tirx as T

from npu_target.codegen_tir import DoesNotFit, build_program
from npu_target.device import kind_of, preset
from npu_target.schedule_rules import SPACES, default, default_schedule, designs
from npu_target.schedule_rules.traces import Structure, trace_json
from npu_target.topi import Arg, Matmul, Operator
from npu_target.topi.blocking import ceil_div
from npu_target.topi.mac_schedule import annotate_pipeline
from npu_target.topi.pool_schedule import is_pool
from npu_target.tuning.choose import cycles_of
from npu_target.tuning.search import point_space

CONFIG = preset("gemmini-16x16")


def schedule_halve(sch: Schedule, scope: str, pipelined: bool) -> None:
    take, give = sch.get_sblock("take"), sch.get_sblock("give")
    rows, blocks, lane = sch.get_loops(give)
    outer, inner = sch.split(rows, sch.sample_perfect_tile(rows, n=2, max_innermost_factor=4096))
    if pipelined:  # and one structure has a loop more to cut
        around, blocks = sch.split(
            blocks, sch.sample_perfect_tile(blocks, n=2, max_innermost_factor=4096)
        )
        sch.reorder(outer, around, inner, blocks, lane)
        outer = sch.fuse(outer, around)
    sch.set_scope(take, 0, scope)
    sch.compute_at(take, outer)
    if pipelined:
        annotate_pipeline(sch, outer, [0, 1])


@dataclass(frozen=True)
class Halve(Operator):
    """`out[r, c] = requantize(x[r, c])` with a scale of a half, through the sums: no product."""

    op: ClassVar[str] = "halve"

    rows: int
    channels: int

    @property
    def args(self) -> tuple[Arg, ...]:
        shape = (self.rows, self.channels)
        return Arg("x", "input", "int8", shape), Arg("out", "output", "int8", shape)

    @property
    def macs(self) -> int:
        return 0

    @property
    def name(self) -> str:
        return f"halve_{self.rows}x{self.channels}"

    def canonical(self):
        return self

    def prim_func(self, config):
        R, C, D = self.rows, self.channels, config.dim
        CB, requantize = ceil_div(C, D), kind_of(config).numbers.rule.expression

        @T.prim_func(s_tir=True)
        def halve(x: T.Buffer((R, C), "int8"), out: T.Buffer((R, C), "int8")):
            T.func_attr({"tirx.noalias": True})
            with T.sblock("root"):
                tile = T.sblock_alloc_buffer((R, CB, D), "int32")
                for r, cb, c in T.grid(R, CB, D):
                    with T.sblock("take"):
                        vr, vcb, vc = T.axis.remap("SSS", [r, cb, c])
                        tile[vr, vcb, vc] = T.if_then_else(
                            vcb * D + vc < C, T.cast(x[vr, vcb * D + vc], "int32"), 0
                        )
                for r, cb, c in T.grid(R, CB, D):
                    with T.sblock("give"):
                        vr, vcb, vc = T.axis.remap("SSS", [r, cb, c])
                        if vcb * D + vc < C:
                            out[vr, vcb * D + vc] = requantize(tile[vr, vcb, vc], 0.5)

        return halve

    def reference(self, inputs, numbers):
        return numbers.rule.evaluate(inputs["x"].astype(np.int32), 0.5)

    @classmethod
    def spellings(cls, numbers):
        return Matmul.spellings(numbers)

    @classmethod
    def accept(cls, match, config):
        return None

    @classmethod
    def examples(cls, config):
        return []

    def templates(self, config):
        scope = config.memories.sums.scope
        return [partial(schedule_halve, scope=scope, pipelined=p) for p in (True, False)]


def program_of(operator: Operator, schedule: Schedule):
    return build_program(schedule.mod["main"], CONFIG, operator.name)


@pytest.mark.long
@pytest.mark.parametrize("size", [(1, 1), (60, 40), (600, 70)])
def test_the_default_is_right_and_among_the_best(size, monkeypatch):
    monkeypatch.setattr(default, "_chosen", {})
    operator = Halve(*size)
    schedule = default_schedule(operator, CONFIG)
    program = program_of(operator, schedule)
    x = np.random.default_rng(0).integers(-128, 128, size, np.int8)
    expected = operator.reference({"x": x}, kind_of(CONFIG).numbers)
    np.testing.assert_array_equal(run_program(program, [x]), expected)
    # It is nearly as good as any of its schedules: they are few enough to look at.
    found = []
    for design in designs(Schedule(operator.prim_func(CONFIG)), operator, CONFIG, "template"):
        structure = Structure.of(trace_json(design.schedule.trace))
        for tiles in product(*structure.options):
            candidate = Schedule(operator.prim_func(CONFIG))
            Trace.apply_json_to_schedule(structure.trace(tiles), candidate)
            try:
                found.append(cycles_of(program_of(operator, candidate)))
            except DoesNotFit:
                continue
    assert cycles_of(program) <= 1.05 * min(found)
    assert default_schedule(operator, CONFIG).mod.script() == schedule.mod.script()


@pytest.mark.parametrize("space", SPACES)
def test_every_space_has_its_templates(space):
    operator = Halve(60, 40)
    start = Schedule(operator.prim_func(CONFIG))
    assert not is_pool(start)
    found = designs(start, operator, CONFIG, space)
    assert len(found) == len(operator.templates(CONFIG))
    for design in found:
        program_of(operator, design.schedule)


def test_a_search_steps_through_its_points():
    space = point_space(Halve(60, 40), CONFIG, "both", 1, random.Random(1))
    points = space.draw(5)
    assert len(points) == 5 and all(space.fits(point) for point in points)


def test_an_operator_without_templates_has_no_default(monkeypatch):
    monkeypatch.setattr(Halve, "templates", lambda self, config: [])
    with pytest.raises(ValueError, match="halve_61x40: no templates, so no default schedule"):
        default_schedule(Halve(61, 40), CONFIG)
