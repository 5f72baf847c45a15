"""Operators on VTA: schedules of all structures, compiled, launched, compared with NumPy.

Launches refuse what depends on engines' speeds, so that each of them also shows the tokens right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm.s_tir import Schedule

from npu_target.codegen_tir import CodegenError, build_program
from npu_target.conformance.runs import default_program, expected, inputs_of, launched
from npu_target.device import kind_of, preset
from npu_target.device_api import last_stats, program_cycles
from npu_target.devices.vta import isa
from npu_target.program import Command, Loop, Node, Program
from npu_target.schedule_rules.space import designs
from npu_target.topi import Add, Conv2d, DepthwiseConv2d, Matmul, Operator
from npu_target.topi.fitting import fitted
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure

CONFIG = preset("vta-1x16x16")
DIM = CONFIG.dim
SMALL = st.integers(1, 3 * DIM)
SCALES = st.integers(0, 14).map(lambda bits: 2.0**-bits)


@st.composite
def convolutions(draw: st.DrawFn) -> Operator:
    kh, kw = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    pad = tuple(draw(st.integers(0, size - 1)) for size in (kh, kw, kh, kw))
    sizes = draw(st.integers(kh, 12)), draw(st.integers(kw, 12))
    strides = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    more = {"bias": draw(st.booleans()), "relu": draw(st.booleans()), "scale": draw(SCALES)}
    if draw(st.booleans()):
        return DepthwiseConv2d(1, *sizes, draw(SMALL), kh, kw, DIM, strides, pad, **more)
    return Conv2d(
        draw(st.integers(1, 2)), *sizes, draw(SMALL), draw(SMALL), kh, kw, strides, pad, **more
    )


OPERATORS = (
    st.builds(Matmul, st.integers(1, 2), SMALL, SMALL, SMALL, st.booleans(), st.booleans(), SCALES)
    | convolutions()
    | st.builds(Add, SMALL, SMALL, st.just(DIM), st.booleans(), st.sampled_from([1.0, 2.0**-7]))
)


@given(OPERATORS, st.integers(1, 2**20), st.data())
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
def test_every_structure_computes_what_numpy_does(
    operator: Operator, seed: int, data: st.DataObject
) -> None:
    """With tiles of any size, in any of the templates' and rules' structures."""
    kernel = fitted(operator, CONFIG).kernel()
    found = designs(Schedule(kernel.prim_func(CONFIG), seed=seed), kernel, CONFIG, "both")
    mod = data.draw(st.sampled_from(found)).schedule.mod
    program = build_program(mod["main"], CONFIG, kernel.name)
    result = launched(program, inputs_of(kernel, CONFIG, mod))
    np.testing.assert_array_equal(result, expected(kernel, CONFIG))


@given(OPERATORS)
@settings(max_examples=60)
def test_a_padded_operator_computes_the_same(operator: Operator) -> None:
    """In the part of the output that is the operator's own."""
    padded, numbers = operator.padded(DIM), kind_of(CONFIG).numbers
    inputs = operator.sample(np.random.default_rng(3))
    larger = {}
    for small, large in zip(operator.args[:-1], padded.args[:-1], strict=True):
        widths = [(0, b - a) for a, b in zip(small.shape, large.shape, strict=True)]
        larger[small.name] = np.pad(inputs[small.name].reshape(small.shape), widths)
        assert large.shape[-1] % DIM == 0
    wanted = operator.reference(inputs, numbers).reshape(operator.args[-1].shape)
    found = padded.reference(larger, numbers).reshape(padded.args[-1].shape)
    part = tuple(slice(extent) for extent in wanted.shape)
    np.testing.assert_array_equal(found[part], wanted)


def test_loads_steps_and_stores_overlap() -> None:
    operator = Matmul(1, 512, 512, 32, scale=2.0**-11)
    cycles = {}
    for pipelined in (True, False):
        schedule = Schedule(operator.prim_func(CONFIG))
        structure = MacStructure(pipelined=pipelined, two_sums=pipelined)
        schedule_mac(schedule, structure, {"blocks": [1, 2], "steps": [16, 2]})
        program = build_program(schedule.mod["main"], CONFIG, operator.name)
        inputs = inputs_of(operator, CONFIG, schedule.mod)
        np.testing.assert_array_equal(launched(program, inputs), expected(operator, CONFIG))
        stats = last_stats()
        assert stats is not None
        cycles[pipelined] = stats.cycles
    assert cycles[True] < 0.7 * cycles[False]


def without(nodes: tuple[Node, ...], unwanted: Callable[[Command], bool]) -> tuple[Node, ...]:
    """A program's nodes but for some commands."""
    left: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            left.append(Loop(node.loop_id, node.extent, without(node.body, unwanted)))
        elif not unwanted(node):
            left.append(node)
    return tuple(left)


@pytest.mark.parametrize(
    ("give", "take"),
    [
        ((isa.INP, "push_next"), (isa.UOP, "pop_prev")),
        ((isa.UOP, "push_prev"), (isa.INP, "pop_next")),
        ((isa.OUT, "push_prev"), (isa.UOP, "pop_next")),
    ],
    ids=["steps wait for loads", "loads wait for steps", "steps wait for stores"],
)
def test_tokens_are_needed(give: tuple[int, str], take: tuple[int, str]) -> None:
    """Without those of one queue the simulator refuses the program."""
    operator = Matmul(1, 96, 64, 64, scale=2.0**-9)
    schedule = Schedule(operator.prim_func(CONFIG))
    schedule_mac(schedule, MacStructure(), {"blocks": [2, 2], "steps": [4, 1]})
    program = build_program(schedule.mod["main"], CONFIG, operator.name)

    def is_token(node: Command) -> bool:
        command = isa.COMMANDS.decode(node.funct, node.rs1.base, node.rs2.base)
        if not isinstance(command, isa.Transfer) or node.rs2.steps or node.rs2.base:
            return False
        return any(command.memory == m and getattr(command, flag) for m, flag in (give, take))

    body = without(program.body, is_token)
    assert body != program.body
    broken = Program(program.name, CONFIG, program.args, body, program.constants)
    with pytest.raises(RuntimeError, match=r"\[race\]"):
        launched(broken, inputs_of(operator, CONFIG, schedule.mod))
    # Where no values are computed either, so that no such schedule is chosen.
    with pytest.raises(RuntimeError, match=r"\[race\].*(touches row|uses the same DRAM)"):
        program_cycles(broken.to_bytes())


def refusal(operator: Operator) -> str:
    """Why the compiler does not take an operator as it is."""
    schedule = Schedule(operator.prim_func(CONFIG))
    tiles = {"blocks": [1, 1], "steps": [1, 1]}
    schedule_mac(schedule, MacStructure(pipelined=False), tiles)
    with pytest.raises(CodegenError) as caught:
        build_program(schedule.mod["main"], CONFIG, operator.name)
    return str(caught.value)


def test_what_no_command_copies_is_refused() -> None:
    multiple = "a multiple of 16"
    assert multiple in refusal(Matmul(1, 4, 15, 16, bias=False))
    assert multiple in refusal(Matmul(1, 4, 16, 15, bias=False))


def test_a_program_reads_its_micro_ops_first() -> None:
    program, _ = default_program(Matmul(1, 20, 16, 16), CONFIG)
    first, *_, last = program.body
    names = [constant.name for constant in program.constants]
    assert names[0] == "micro_ops"
    assert isinstance(first, Command) and isinstance(last, Command)
    load = isa.COMMANDS.decode(first.funct, first.rs1.base, first.rs2.base)
    assert isinstance(load, isa.Load) and load.memory == isa.UOP
    assert load.x_size * 4 == program.constants[0].nbytes
    assert isinstance(isa.COMMANDS.decode(0, last.rs1.base, last.rs2.base), isa.Finish)
    assert Program.from_bytes(program.to_bytes()) == program


def test_other_blocks() -> None:
    """32 channels, whose rows of sums are 128 bytes."""
    config = preset("vta-1x32x32")
    for operator in (Matmul(1, 33, 64, 96, scale=2.0**-9), Add(10, 64, 32)):
        program, mod = default_program(operator, config)
        result = launched(program, inputs_of(operator, config, mod))
        np.testing.assert_array_equal(result, expected(operator, config))
