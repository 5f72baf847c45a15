"""Packed weights: schedules that ask for them compute what NumPy does, on arguments laid out so."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kernel_runs import check_schedule, kernel_schedule
from operator_strategies import devices, operators

from npu_target.codegen_tir import CodegenError, DoesNotFit, build, build_program
from npu_target.device import preset
from npu_target.devices.gemmini.isa import COMMANDS, LOADS
from npu_target.passes.packings import packings
from npu_target.schedule_rules.rules import mac_structures
from npu_target.topi import Conv2d, Matmul
from npu_target.topi.mac_schedule import for_loops, mac_loops, schedule_mac
from npu_target.topi.mac_structure import MacStructure

CONFIG = preset("gemmini-16x16")
WEIGHTS = ("conv2d", "depthwise_conv2d", "matmul")


def check_packed(op: str, data: st.DataObject) -> None:
    config = data.draw(devices, "device")
    operator = data.draw(operators(config)[op], "operator")
    assume(operator.kernel().layout_free)
    schedule = kernel_schedule(operator, config, data.draw(st.integers(1, 2**31 - 1), "seed"))
    structures = [*mac_structures(mac_loops(schedule), True), *operator.template_structures()]
    structure = data.draw(st.sampled_from([s for s in structures if s.packed]), "structure")
    (taken,) = for_loops(schedule, [structure], config)
    schedule_mac(schedule, taken)
    assert list(packings(schedule.mod["main"], config)) == list(operator.kernel().layout_free)
    try:
        check_schedule(operator, schedule, config, data.draw(st.integers(0, 99), "values"))
    except DoesNotFit:
        assume(False)


@pytest.mark.parametrize("op", WEIGHTS)
@settings(max_examples=8)
@given(data=st.data())
def test_equals_numpy(op, data):
    check_packed(op, data)


@pytest.mark.slow
@pytest.mark.parametrize("op", WEIGHTS)
@settings(max_examples=300)
@given(data=st.data())
def test_equals_numpy_at_length(op, data):
    check_packed(op, data)


@pytest.mark.parametrize("is_packed", [True, False])
def test_what_is_built_says_how_its_arguments_lie(is_packed):
    operator = Matmul(1, 32, 64, 48)
    schedule = kernel_schedule(operator, CONFIG, 1)
    schedule_mac(schedule, MacStructure(packed=is_packed))
    func = schedule.mod["main"]
    program, layouts = build(func, CONFIG, operator.name)
    assert program == build_program(func, CONFIG, operator.name)
    assert layouts == packings(func, CONFIG)
    assert bool(layouts) == is_packed


def test_weights_come_in_whole_lines_one_after_the_other():
    """63 blocks of channels, the last one not full: no row begins in the middle of a line, and all
    are loaded in the order in which they lie."""
    operator = Matmul(1, 1, 64, 1000)
    schedule = kernel_schedule(operator, CONFIG, 1)
    structure = MacStructure(split_depth=True, packed=True)
    schedule_mac(schedule, structure, {"blocks": [1, 63], "steps": [1, 1], "depth": [2, 2]})
    program = check_schedule(operator, schedule, CONFIG)
    start = 0x8000_0000
    addresses = {arg.name: start + index * 2**24 for index, arg in enumerate(program.args)}
    commands = [COMMANDS.decode(*words) for words in program.expand(addresses)]
    size = program.args[1].nbytes
    weights = [
        command
        for command in commands
        if isinstance(command, LOADS) and 0 <= command.dram_address - addresses["b"] < size
    ]
    places = [command.dram_address - addresses["b"] for command in weights]
    assert sorted(places) == list(range(0, size, 1024))
    assert {(command.cols, command.rows) for command in weights} == {(64, 16), (32, 16)}
    assert any(
        words[0] == 0 and "stride_bytes=64" in str(command)
        for words, command in zip(program.expand(addresses), commands, strict=True)
    )


def test_the_first_steps_wait_for_their_own_weights_only():
    """In the order of the steps a load brings what four of them need one after the other."""
    operator = Conv2d(1, 1, 64, 256, 64, 1, 1)
    tiles = {"blocks": [1, 4], "lines": [1, 1], "steps": [1, 4]}
    cycles = []
    for packed in (False, True):
        schedule = kernel_schedule(operator, CONFIG, 1)
        schedule_mac(schedule, MacStructure(kept=True, packed=packed), tiles)
        program = check_schedule(operator, schedule, CONFIG)
        text = program.text[: program.text.index("compute")]
        cycles.append(text.count("mvin"))
    assert cycles[1] <= cycles[0]


def test_all_loads_of_a_weight_are_packed_or_none():
    """The strips at an image's edges load parts of it."""
    operator = Conv2d(1, 16, 16, 3, 16, 3, 3, pad=(1, 1, 1, 1)).kernel()
    schedule = kernel_schedule(operator, CONFIG, 1)
    schedule_mac(schedule, MacStructure(packed=True))
    with pytest.raises(CodegenError, match="argument weight is packed for another load"):
        build_program(schedule.mod["main"], CONFIG, operator.name)


def test_what_varies_is_not_packed():
    for operator in (Matmul(1, 32, 32, 32, varying=True), Matmul(2, 32, 32, 32)):
        assert operator.layout_free == ()
        assert not any(structure.packed for structure in operator.template_structures())
    few_channels = Conv2d(1, 16, 16, 3, 16, 3, 3).kernel()
    assert few_channels.windows and few_channels.layout_free == ()
