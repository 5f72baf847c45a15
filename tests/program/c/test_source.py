"""Programs as C: the compiled kernel issues the stream that the program expands into."""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from native_kernels import COMPILER, compiled, issued
from program_strategies import places, programs

from npu_target import topi
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.isa import LocalAddress, Mvin
from npu_target.program import (
    Address,
    Arg,
    Command,
    Constant,
    Loop,
    Node,
    Operand,
    Program,
    const,
    device_command,
    floor_div,
    floor_mod,
    le,
    lt,
    select,
    var,
)
from npu_target.program.c import kernel_name, kernel_source
from npu_target.schedule_rules import default_schedule

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

ARGS = (Arg("x", "input", "int8", (64,)), Arg("y", "output", "int8", (64,)))
_BORDER = (1, 1, 1, 1)
# A kind each, with boundary tiles, borders, several blocks of channels; for an array of so many.
OPERATORS: dict[str, Callable[[int], topi.Operator]] = {
    "matmul": lambda dim: topi.Matmul(batch=1, m=100, k=64, n=40, bias=True, scale=0.01),
    "batched": lambda dim: topi.Matmul(batch=3, m=20, k=48, n=33, bias=False, scale=0.02),
    "conv2d": lambda dim: topi.Conv2d(
        n=1, h=15, w=17, ci=20, co=40, kh=3, kw=3, pad=_BORDER, bias=True, relu=True, scale=0.01
    ),
    "strided": lambda dim: topi.Conv2d(
        n=2, h=14, w=14, ci=32, co=24, kh=3, kw=3, strides=(2, 2), pad=_BORDER, scale=0.01
    ),
    "few channels": lambda dim: topi.Conv2d(
        n=1, h=30, w=30, ci=3, co=16, kh=7, kw=7, strides=(2, 2), pad=(3, 3, 3, 3), scale=0.01
    ),
    "depthwise": lambda dim: topi.DepthwiseConv2d(
        n=1, h=14, w=14, c=40, kh=3, kw=3, dim=dim, pad=_BORDER, scale=0.01
    ),
    "add": lambda dim: topi.Add(rows=70, cols=40, dim=dim, scale=0.5),
    "max pool": lambda dim: topi.MaxPool2d(n=1, h=20, w=20, c=24, size=3, stride=2, pad=_BORDER),
    "average": lambda dim: topi.GlobalAvgPool(n=1, h=7, w=7, c=70, dim=dim, scale=0.02),
}


@needs_compiler
def test_constants_are_in_the_source() -> None:
    """In rows of an array, at a multiple of what operands count in."""
    data = bytes(range(200))
    body = (
        Command(2, Operand.argument(2), Operand.argument(2, 3, unit=4)),
        Command(3, Operand.argument(0), Operand.argument(1)),
    )
    program = Program("k", GemminiConfig(), ARGS, body, (Constant("table", data),))
    with tempfile.TemporaryDirectory() as folder:
        library = ctypes.CDLL(str(compiled(program, Path(folder))))
        library.kernel_k(ctypes.c_void_p(0x1000), ctypes.c_void_p(0x2000))
        library.recorded.restype = ctypes.POINTER(ctypes.c_uint64)
        words = library.recorded(ctypes.byref(ctypes.c_uint64()))[:6]
        assert ctypes.string_at(words[1], len(data)) == data
    assert words == [2, words[1], words[1] // 16 + 3, 3, 0x1000, 0x2000]
    assert words[1] % 16 == 0


def check(program: Program, addresses: dict[str, int] | None = None, *options: str) -> None:
    if addresses is None:
        addresses = {arg.name: (index + 1) << 24 for index, arg in enumerate(program.args)}
    with tempfile.TemporaryDirectory() as folder:
        found = issued(program, addresses, Path(folder), *options)
    assert found == program.expand(addresses)


def kernel(*body: Node) -> Program:
    return Program("k", GemminiConfig(), ARGS, body)


def load(address: Operand, local: Operand) -> Command:
    return Command(2, address, local)


@needs_compiler
@given(programs(), st.data())
@settings(max_examples=25, deadline=None)
def test_random_programs(program: Program, data: st.DataObject) -> None:
    addresses = data.draw(places(program))
    check(program, addresses, "-O0")


_MOST_COMMANDS = 20_000
# Small numbers, so that operands are families, and loops that stand in each other and repeat.
_BY = st.sampled_from([0, 1, 8, 64, 5000, -64])
PLACES = (Address(0), Address(1), Address(0, 4), Address(1, 2, 26), Address(0, 0, 3))


@st.composite
def _nests(draw: st.DrawFn, loop_ids: tuple[int, ...] = (), depth: int = 3) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.booleans()):
            loop_id = len(loop_ids)
            extent = const(draw(st.sampled_from([0, 1, 2, 3, 4, 70])))
            if loop_ids and draw(st.integers(0, 3)) == 0:
                outer = var(draw(st.sampled_from(loop_ids)))
                extent = draw(st.sampled_from([outer, 3 - outer, lt(outer, 2), le(1, outer)]))
            nodes.append(Loop(loop_id, extent, draw(_nests((*loop_ids, loop_id), depth - 1))))
            continue
        words = []
        for address in (draw(st.sampled_from([None, *PLACES])), None):
            steps = tuple((i, by) for i in loop_ids if (by := draw(_BY)))
            general = ()
            if loop_ids and draw(st.integers(0, 3)) == 0:
                general = ((draw(_BY.filter(bool)), floor_div(var(loop_ids[-1]) + 1, 2)),)
            words.append(Operand(draw(st.integers(0, 3)) * 1000, address, steps, general))
        nodes.append(load(*words))
    return tuple(nodes)


def _most_issued(body: tuple[Node, ...]) -> int:
    return sum(
        (node.extent.value if node.extent.is_const else 70) * _most_issued(node.body)
        if isinstance(node, Loop)
        else 1
        for node in body
    )


@needs_compiler
@given(_nests())
@settings(max_examples=40, deadline=None)
def test_registers_that_run_begin_and_come_back(body: tuple[Node, ...]) -> None:
    assume(_most_issued(body) < _MOST_COMMANDS)
    check(kernel(*body), None, "-O0")


@needs_compiler
@given(_nests((0,), 1), _nests((0, 1), 1), _nests((0, 1), 1), st.integers(2, 3))
@settings(max_examples=30, deadline=None)
def test_long_loops_have_what_they_need_made_before_them(
    between: tuple[Node, ...], first: tuple[Node, ...], second: tuple[Node, ...], turns: int
) -> None:
    beside = (Loop(1, const(130), first), *between, Loop(1, const(65), second))
    body = (Loop(0, const(turns), beside),)
    assume(_most_issued(body) < _MOST_COMMANDS)
    check(kernel(*body), None, "-O0")


def test_of_a_loop_beside_others_what_it_alone_needs_is_made_before_it() -> None:
    fixed, shared = Operand(0x123000), Operand(0x456000)
    long = Loop(1, const(128), (load(fixed, shared),))
    other = Loop(1, const(128), (load(shared, Operand(8, None, ((1, 16),))),))
    lines = kernel_source(kernel(Loop(0, const(3), (long, other)))).splitlines()
    outer, first, second = [i for i, line in enumerate(lines) if "do {" in line]
    made = [i for i, line in enumerate(lines) if "0x123000" in line and "const" in line]
    assert len(made) == 1 and outer < made[0] < first
    made = [i for i, line in enumerate(lines) if "0x456000" in line and "const" in line]
    assert len(made) == 1 and made[0] < outer
    begins = [i for i, line in enumerate(lines) if "uint64_t r" in line]
    assert len(begins) == 1 and first < begins[0] < second


@pytest.mark.long
@needs_compiler
@pytest.mark.parametrize(
    ("name", "device"),
    [(name, "gemmini-16x16") for name in OPERATORS]
    + [
        (name, device)
        for name in ("matmul", "few channels")
        for device in ["gemmini-32x32", "gemmini-8x8"]
    ],
)
def test_operators(name: str, device: str) -> None:
    config = preset(device)
    operator = OPERATORS[name](config.dim).kernel()
    schedule = default_schedule(operator, config)
    check(build_program(schedule.mod["main"], config, operator.name), None, "-O1")


def _words(steps: Sequence[tuple[int, int]]) -> Operand:
    return Operand(0, None, tuple(steps))


@needs_compiler
def test_a_register_that_comes_back_to_its_end_is_not_what_ends_the_loop() -> None:
    check(kernel(Loop(0, const(4), (load(_words([(0, -(2**63))]), _words([])),))))
    check(kernel(Loop(0, const(4), (load(_words([(0, -(2**63))]), _words([(0, 16)])),))))


@needs_compiler
def test_expressions_of_numbers_are_words() -> None:
    i = var(0)
    values = [select(lt(i, 2), -1, 70000), i * -40000 * 90000, floor_mod(i - 3, -5)]
    body = [load(Operand(0, None, (), ((1, value),)), _words([])) for value in values]
    check(kernel(Loop(0, const(4), tuple(body))), None, "-O2")


@needs_compiler
@pytest.mark.parametrize("least", [0, -1])
def test_what_is_not_negative_is_divided_without_regard_for_signs(least: int) -> None:
    i = var(0)
    values = [floor_div(i * 3 + least, 7), floor_mod(i * 3 + least, 7)]
    body = [load(Operand(0, None, (), ((1, value),)), _words([])) for value in values]
    program = kernel(Loop(0, const(9), tuple(body)))
    text = kernel_source(program)
    assert ("npu_floor_div(" in text) == ("npu_floor_mod(" in text) == (least < 0)
    check(program, None, "-O2")


@needs_compiler
def test_the_variable_of_a_loop_of_one_turn_is_no_number_to_shift() -> None:
    word = Operand(0, None, (), ((1 << 32, var(0)),))
    check(kernel(Loop(0, const(1), (Command(0, Operand(), word),))))


@needs_compiler
def test_loops_beside_each_other_may_have_one_variable() -> None:
    inner = Loop(1, lt(var(0), 1), (load(_words([(0, 8)]), _words([])),))
    check(kernel(Loop(0, const(3), (inner,)), Loop(0, const(2), (inner,))))


@needs_compiler
@pytest.mark.parametrize("name", ["*/ x", "a b/1.5", "ж", "return", "back\\", "'\"%n"])
def test_names_of_any_kind(name: str) -> None:
    args = (Arg(name, "input", "int8", (64,)), Arg("y", "output", "int8", (64,)))
    command = device_command(
        Mvin, dram_address=Operand.argument(0), local=LocalAddress.spad(0), cols=16, rows=1
    )
    check(Program(name, GemminiConfig(), args, (command,)))


def test_the_text_tells_what_it_issues() -> None:
    command = device_command(
        Mvin,
        dram_address=Operand.argument(0, 16 * var(0)),
        local=LocalAddress.spad(32),
        cols=16,
        rows=1,
    )
    program = kernel(Loop(0, const(3), (command,)))
    text = kernel_source(program)
    assert '#include "npu.h"\n' in text
    assert f"void {kernel_name(program)}(const void *arg0, void *arg1) {{" in text
    assert "(void)arg1;" in text  # no command has it
    [line] = [line for line in text.splitlines() if line.lstrip().startswith("npu(")]
    assert re.fullmatch(
        r"    npu\(2, r1, k1\);  // mvin  x \+ 16\*i0 -> spad\[0x20\], 16 cols, 1 rows", line
    )
    assert "r1 = npu_advance(r1, 16);\n  } while (r1 != n1);" in text
