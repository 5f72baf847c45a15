"""Commands: their words, round trips, refusals, and that C++ reads them alike."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vta_streams import BASE, pack

from npu_target.device.commands import FieldSpec, IsaError
from npu_target.device_api import run_stream
from npu_target.devices.vta import VtaConfig, isa

CONFIG = VtaConfig()
DEVICES = (CONFIG, CONFIG.replace(name="more", has_alu_multiply=True, has_acc_int8_load=True))
# A field's value is small where the device may refuse a large one, to have both.
SMALL = 5


def values_of(spec: FieldSpec) -> st.SearchStrategy[Any]:
    if spec.kind == "flag":
        return st.booleans()
    if spec.kind == "sint":
        half = 2 ** (spec.width - 1)
        return st.integers(-40, 40) | st.integers(-half, half - 1)
    most = 2**spec.width - 1
    return st.integers(0, min(most, SMALL)) | st.integers(0, most)


@st.composite
def commands(draw: st.DrawFn) -> isa.VtaCommand:
    cls = draw(st.sampled_from(isa.COMMANDS.classes))
    command = cls(**{name: draw(values_of(spec)) for name, spec in cls.specs().items()})
    assert isinstance(command, isa.VtaCommand)
    return command


@given(commands())
def test_decode_inverts_encode(command: isa.VtaCommand) -> None:
    assert isa.COMMANDS.decode(*command.encode()) == command


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_encode_inverts_decode_or_decode_refuses(word1: int, word2: int) -> None:
    try:
        command = isa.COMMANDS.decode(0, word1, word2)
    except IsaError:
        return
    assert command.encode() == (0, word1, word2)


@pytest.mark.parametrize("cls", isa.COMMANDS.classes, ids=lambda cls: cls.mnemonic)
def test_fields_do_not_overlap(cls: type[isa.VtaCommand]) -> None:
    used = {1: cls.tag_mask, 2: 0}
    for spec in cls.specs().values():
        assert used[spec.register] & spec.mask == 0, spec
        used[spec.register] |= spec.mask


def test_words_of_the_public_description() -> None:
    """Written down from the bit fields of the public header, for its default configuration."""
    load = isa.Load(
        memory=isa.INP,
        pop_next=True,
        push_next=True,
        sram_base=0x1234,
        dram_base=0x89ABCDEF,
        y_size=0x1111,
        x_size=0x2222,
        x_stride=0x3333,
        y_pad_before=1,
        y_pad_after=2,
        x_pad_before=3,
        x_pad_after=4,
    )
    word1 = 1 << 4 | 1 << 6 | 2 << 7 | 0x1234 << 10 | 0x89ABCDEF << 26
    assert load.encode() == (0, word1, 0x4321_3333_2222_1111)
    gemm = isa.Gemm(
        uop_begin=0x1555,
        uop_end=0x2AAA,
        iter_out=0x1111,
        iter_in=0x2222,
        reset=True,
        dst_factor_out=0x401,
        dst_factor_in=2,
        src_factor_out=3,
        src_factor_in=4,
        wgt_factor_out=5,
        wgt_factor_in=0x201,
    )
    word1 = 2 | 1 << 7 | 0x1555 << 8 | 0x2AAA << 21 | 0x1111 << 35 | 0x2222 << 49
    word2 = 0x401 | 2 << 11 | 3 << 22 | 4 << 33 | 5 << 44 | 0x201 << 54
    assert gemm.encode() == (0, word1, word2)
    alu = isa.Alu(
        uop_begin=0, uop_end=1, op=isa.SHR, use_immediate=True, immediate=-3, src_factor_in=0x7FF
    )
    assert alu.encode()[2] == 0x7FF << 33 | 3 << 44 | 1 << 47 | 0xFFFD << 48
    assert isa.Finish(pop_next=True).encode() == (0, 3 | 1 << 4, 0)
    assert isa.micro_op(0x7FF, 1, 3) == 0x7FF | 1 << 11 | 3 << 22


def test_text() -> None:
    load = isa.Load(memory=isa.INP, sram_base=3, dram_base=0x100, y_size=1, x_size=4, push_next=1)
    text = "load  push_next, memory=inp, sram_base=3, dram_base=0x100, y_size=1, x_size=4"
    assert str(load) == text
    alu = isa.Alu(uop_begin=0, uop_end=2, op=isa.SHR, use_immediate=True, immediate=8)
    text = "alu  uop_end=2, iter_out=1, iter_in=1, op=shr, use_immediate, immediate=8"
    assert isa.COMMANDS.disassemble([alu.encode(), (0, 7, 0)]).splitlines()[0] == text
    assert "raw  funct 0, rs1 0x7" in isa.COMMANDS.disassemble([(0, 7, 0)])


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (isa.Load(memory=isa.OUT), "a memory to load"),
        (isa.Load(memory=isa.ACC_INT8, x_size=1, y_size=1), "needs has_acc_int8_load"),
        (isa.Load(memory=isa.INP, sram_base=2047, y_size=1, x_size=2), "rows up to 2048"),
        (isa.Load(memory=isa.WGT, y_size=1, x_size=2, x_pad_after=1), "no padding"),
        (isa.Load(memory=isa.INP, x_size=1), "y_size of at least 1"),
        (isa.Load(memory=isa.INP, push_prev=True), "no tokens of an engine before load"),
        (isa.Store(memory=isa.ACC), "the memory out"),
        (isa.Store(memory=isa.OUT, push_next=True), "no tokens of an engine behind store"),
        (isa.Gemm(uop_begin=3, uop_end=3), "uop_end beyond uop_begin"),
        (isa.Gemm(uop_begin=0, uop_end=8193), "uop_end is 8193, needs 0 to 8192"),
        (isa.Gemm(uop_begin=0, uop_end=1, iter_in=0), "iter_in is 0, needs 1 to"),
        (isa.Alu(uop_begin=0, uop_end=1, op=5), "an operation of the ALU"),
        (isa.Alu(uop_begin=0, uop_end=1, op=isa.MUL), "needs has_alu_multiply"),
        (isa.Alu(uop_begin=0, uop_end=1, op=isa.ADD, immediate=1), "no immediate"),
        (
            isa.Alu(uop_begin=0, uop_end=1, op=isa.SHR, use_immediate=True, immediate=32),
            "a shift of at most 31",
        ),
    ],
)
def test_refusals(command: isa.VtaCommand, message: str) -> None:
    with pytest.raises(IsaError, match=message):
        command.validate(CONFIG)


def test_micro_ops_that_the_word_cannot_name() -> None:
    for rows in ({"dst": 2048}, {"dst": 0, "src": -1}, {"dst": 0, "wgt": 1024}):
        with pytest.raises(IsaError, match="micro-op"):
            isa.micro_op(**rows)


def refusal_of_the_library(config: VtaConfig, words: bytes) -> str | None:
    """What the library says of one command; None where it takes it and waits for a FINISH."""
    with pytest.raises(RuntimeError) as caught:
        run_stream(config, words, BASE, bytes(4))
    text = str(caught.value)
    return None if "[deadlock]" in text and "needs a finish behind it" in text else text


@given(st.sampled_from(DEVICES), commands())
@settings(max_examples=400)
def test_python_and_the_library_refuse_the_same(config: VtaConfig, command: isa.VtaCommand) -> None:
    if isinstance(command, isa.Finish):
        return
    try:
        command.validate(config)
        is_right = True
    except IsaError:
        is_right = False
    said = refusal_of_the_library(config, pack([command]))
    assert (said is None) == is_right, said


@given(commands())
@settings(max_examples=200)
def test_python_and_the_library_read_the_same_fields(command: isa.VtaCommand) -> None:
    """The library names, in its refusals, the fields that are not 0."""
    if isinstance(command, isa.Finish):
        return
    with pytest.raises(RuntimeError) as caught:
        run_stream(CONFIG, pack([command]), BASE, bytes(4))
    said = re.search(rf"command 0 {command.mnemonic}\((.*?)\): ", str(caught.value))
    assert said, caught.value
    fields = dict(item.split("=") for item in said[1].split(", ") if item)
    assert fields == {
        name: str(int(getattr(command, name))) for name in command.specs() if getattr(command, name)
    }
