"""Sums that start by being overwritten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from fuzz.device import run
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule
from tvm import tirx
from tvm.s_tir import Schedule
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from npu_target import topi
from npu_target.codegen_tir import CodegenError, build_program
from npu_target.device import preset
from npu_target.device.commands import DeviceCommand
from npu_target.devices.gemmini import isa
from npu_target.devices.gemmini.gemm import Gemm
from npu_target.program import Command, Program
from npu_target.program.nodes import nodes_of
from npu_target.schedule_rules import default_schedule
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

CONFIG = preset("gemmini-16x16")
GEMM_CALL = Gemm.call
SCRATCHPAD, ACCUMULATOR = (memory.scope for memory in CONFIG.memories.all)
MATMUL = topi.Matmul(1, 64, 96, 96, bias=False)
KEPT = MacStructure(kept=True, two_sums=True)


def program_of(operator: topi.Operator, structure: MacStructure, **tiles: list[int]) -> Program:
    schedule = Schedule(operator.prim_func(CONFIG), seed=1)
    schedule_mac(schedule, structure, tiles)
    return build_program(schedule.mod["main"], CONFIG, "sums")


def commands(program: Program, *kinds: type) -> list[DeviceCommand]:
    found = [node for node in nodes_of(program.body) if isinstance(node, Command)]
    decoded = [isa.COMMANDS.decode(node.funct, node.rs1.base, node.rs2.base) for node in found]
    return [command for command in decoded if isinstance(command, kinds)]


def starting_loads(program: Program) -> list[DeviceCommand]:
    return [load for load in commands(program, *isa.LOADS) if load.local.accumulator]


def overwriting_steps(program: Program) -> int:
    return sum(not step.c.accumulate for step in commands(program, isa.Preload))


@pytest.mark.parametrize("order", ["blocks_first", "kernel_first"])
def test_whole_reductions_need_no_zeros(order):
    structure = MacStructure(kept=True, two_sums=True, step_order=order)
    program = program_of(MATMUL, structure, blocks=[2, 3], steps=[4, 1])
    assert not starting_loads(program)
    assert 0 < overwriting_steps(program) < len(commands(program, isa.Preload))


def test_a_single_block_is_overwritten_by_all_steps():
    program = program_of(topi.Matmul(1, 64, 16, 96, bias=False), KEPT, blocks=[2, 3], steps=[4, 1])
    assert not starting_loads(program)
    assert overwriting_steps(program) == len(commands(program, isa.Preload))


def test_a_bias_is_added_to():
    program = program_of(topi.Matmul(1, 64, 96, 96), KEPT, blocks=[2, 3], steps=[4, 1])
    assert starting_loads(program)
    assert not overwriting_steps(program)


def test_the_first_part_of_a_reduction_overwrites():
    """Two parts are two nests of steps, of which the second one adds."""
    structure = MacStructure(split_depth=True)
    tiles = {"blocks": [2, 3], "steps": [2, 2], "depth": [2, 3]}
    program = program_of(MATMUL, structure, **tiles)
    assert not starting_loads(program)
    assert 0 < overwriting_steps(program) < len(commands(program, isa.Preload)) / 2


def test_parts_of_a_reduction_in_a_loop_add_to_zeros():
    """The loop's steps begin a reduction in its first iteration only."""
    structure = MacStructure(split_depth=True)
    tiles = {"blocks": [2, 3], "steps": [2, 2], "depth": [3, 2]}
    program = program_of(MATMUL, structure, **tiles)
    assert starting_loads(program)
    assert not overwriting_steps(program)


@pytest.mark.long
@settings(max_examples=12)
@given(
    st.builds(
        topi.Conv2d,
        n=st.just(1),
        h=st.integers(3, 18),
        w=st.integers(3, 18),
        ci=st.integers(1, 40),
        co=st.integers(1, 40),
        kh=st.integers(1, 3),
        kw=st.integers(1, 3),
        strides=st.sampled_from([(1, 1), (2, 2)]),
        bias=st.just(False),
    ),
    st.sampled_from(["gemmini-8x8", "gemmini-16x16", "gemmini-32x32"]),
    st.integers(0, 99),
)
def test_values_are_the_same(operator, device, seed):
    config = preset(device)
    check_schedule(operator, default_schedule(operator.kernel(), config), config, seed)


@dataclass(frozen=True)
class Part:
    """Blocks ``first`` to ``end`` of a tile of sums, each of one step's rows: zeros for them, a
    step of the reduction added to each, or their store."""

    kind: str
    first: int
    end: int


BLOCKS, SIDE = 4, 8
SMALL = preset("gemmini-8x8")
PARTS = st.builds(
    lambda kind, ends: Part(kind, min(ends), max(ends) + 1),
    st.sampled_from(["zeros", "zeros", "step", "step", "store"]),
    st.tuples(st.integers(0, BLOCKS - 1), st.integers(0, BLOCKS - 1)),
)


def function_of(parts: list[Part], times: int) -> tirx.PrimFunc:
    """Parts one after another, `times` times; what is stored goes to a place of its own."""
    stores = [i for i, part in enumerate(parts) if part.kind == "store"]
    with IRBuilder() as builder:
        with T.prim_func(s_tir=True):
            T.func_name("parts")
            x = T.arg("x", T.Buffer((BLOCKS, SIDE, SIDE), "int8"))
            w = T.arg("w", T.Buffer((SIDE, SIDE), "int8"))
            out = T.arg("out", T.Buffer((len(stores) + 1, times, BLOCKS, SIDE, SIDE), "int32"))
            a, b = (
                T.alloc_buffer(shape, "int8", scope=SCRATCHPAD)
                for shape in ((BLOCKS, SIDE, SIDE), (SIDE, SIDE))
            )
            acc = T.alloc_buffer((BLOCKS, SIDE, SIDE), "int32", scope=ACCUMULATOR)
            for name, buffer in (("a", a), ("b", b), ("acc", acc)):
                IRBuilder.name(name, buffer)
            with T.grid(BLOCKS, SIDE, SIDE) as (n, r, c):
                T.buffer_store(a, x[n, r, c], [n, r, c])
            with T.grid(SIDE, SIDE) as (r, c):
                T.buffer_store(b, w[r, c], [r, c])
            with T.serial(times) as time:
                for index, part in enumerate(parts):
                    emit(part, time, a, b, acc, out, stores.index(index) if index in stores else 0)
            # Something is stored in any case: zeros of another tile.
            zeros = T.alloc_buffer((BLOCKS, SIDE, SIDE), "int32", scope=ACCUMULATOR)
            IRBuilder.name("zeros", zeros)
            with T.grid(BLOCKS, SIDE, SIDE) as (n, r, c):
                T.buffer_store(zeros, 0, [n, r, c])
            with T.grid(BLOCKS, SIDE, SIDE) as (n, r, c):
                T.buffer_store(out, zeros[n, r, c], [len(stores), 0, n, r, c])
    return builder.get()


def emit(part: Part, time: Any, a: Any, b: Any, acc: Any, out: Any, place: int) -> None:
    extent = part.end - part.first
    if part.kind == "step":
        with T.serial(extent) as n:
            at = [T.address_of(tile[n + part.first, 0, 0]) for tile in (a, acc)]
            call = T.call_extern("int32", GEMM_CALL, at[0], T.address_of(b[0, 0]), at[1], SIDE, 1)
            T.evaluate(call)
        return
    with T.grid(extent, SIDE, SIDE) as (n, r, c):
        if part.kind == "zeros":
            T.buffer_store(acc, 0, [n + part.first, r, c])
        else:
            value = acc[n + part.first, r, c]
            T.buffer_store(out, value, [place, time, n + part.first, r, c])


def stored(parts: list[Part], times: int, product: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is stored, and where that is known: not of sums that were never set to zero."""
    n_stores = sum(part.kind == "store" for part in parts)
    out = np.zeros((n_stores + 1, times, BLOCKS, SIDE, SIDE), np.int32)
    known = np.zeros((n_stores + 1, times, BLOCKS), bool)
    known[-1, 0] = True
    sums, is_set = np.zeros_like(product), np.zeros(BLOCKS, bool)
    for time in range(times):
        place = 0
        for part in parts:
            mine = slice(part.first, part.end)
            if part.kind == "zeros":
                sums[mine], is_set[mine] = 0, True
            elif part.kind == "step":
                sums[mine] += product[mine]
            else:
                out[place, time, mine], known[place, time, mine] = sums[mine], is_set[mine]
                place += 1
    return out, known


def blocks_of(parts: list[Part]) -> set[int]:
    return {block for part in parts for block in range(part.first, part.end)}


def check_parts(parts: list[Part], times: int) -> Program:
    program = build_program(function_of(parts, times), SMALL, "parts")
    generator = np.random.default_rng(3)
    x = generator.integers(-128, 128, (BLOCKS, SIDE, SIDE), np.int8)
    w = generator.integers(-128, 128, (SIDE, SIDE), np.int8)
    wanted, known = stored(parts, times, x.astype(np.int32) @ w.astype(np.int32))
    np.testing.assert_array_equal(run(program, [x, w], 85, 7)[known], wanted[known])
    return program


HALVES = [Part("zeros", 0, 2), Part("store", 0, 1), Part("zeros", 2, 4)]
WHOLE = Part("step", 0, 4)


@pytest.mark.parametrize(
    ("parts", "starts"),
    [
        ([Part("zeros", 0, 4), WHOLE, Part("store", 0, 4)], True),
        # As many zeros as steps, by their number.
        ([*HALVES, WHOLE, WHOLE, Part("store", 0, 4)], False),
        ([Part("zeros", 0, 2), Part("zeros", 2, 4), WHOLE, Part("store", 0, 4)], True),
        ([Part("zeros", 0, 4), Part("step", 0, 2), Part("step", 2, 4), HALVES[1]], True),
        ([Part("zeros", 0, 4), Part("step", 0, 2), Part("store", 0, 4)], False),
        ([Part("zeros", 0, 4), Part("store", 3, 4), WHOLE, HALVES[1]], False),
        ([WHOLE, Part("zeros", 0, 4), Part("store", 0, 1)], False),
    ],
)
@pytest.mark.parametrize("times", [1, 5])
def test_zeros_in_parts_are_left_out_where_steps_start_them(parts, starts, times):
    program = check_parts(parts, times)
    assert bool(overwriting_steps(program)) == starts


def check_any_parts(parts: list[Part], times: int) -> None:
    """Parts as they come, and a store of all; those of which nothing sets some are refused."""
    zeros = [part for part in parts if part.kind == "zeros"]
    parts = [*parts, Part("store", 0, BLOCKS)]
    if blocks_of(zeros) == blocks_of(parts):
        check_parts(parts, times)
        return
    with pytest.raises(CodegenError, match="rows of tile acc are read that nothing writes"):
        build_program(function_of(parts, times), SMALL, "parts")


@settings(max_examples=50)
@given(st.lists(PARTS, min_size=1, max_size=7), st.integers(1, 4))
def test_sums_in_parts_are_right(parts: list[Part], times: int) -> None:
    check_any_parts(parts, times)


@pytest.mark.slow
@settings(max_examples=3000)
@given(st.lists(PARTS, min_size=1, max_size=9), st.integers(1, 4))
def test_sums_in_many_parts_are_right(parts: list[Part], times: int) -> None:
    check_any_parts(parts, times)
