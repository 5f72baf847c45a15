"""Constants of straight-line code: as many instructions as the assembler and the compiler make."""

from __future__ import annotations

import operator
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from riscv_machine import run_kernel

from npu_target.device import preset
from npu_target.device_api import host_cost
from npu_target.program import Command, Operand, Program
from npu_target.program.c.constants import load_immediate_instructions

pytestmark = pytest.mark.riscv

# Some bits here and there, or near such a word, as commands have them.
FIELDS = st.lists(st.tuples(st.integers(-4096, 4096), st.integers(0, 63)), min_size=1, max_size=4)
WORDS = FIELDS.map(lambda fields: sum(value << at for value, at in fields) % 2**64)


@given(st.lists(WORDS, min_size=100, max_size=100))
@example([0x7FFFF7FF, 0x7FFFF800, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1])
@settings(max_examples=10, deadline=None)
def test_load_immediate_as_the_assembler(words: list[int]) -> None:
    words = [word for word in words if word]
    lines = [f"f{i}: li a0, {word - (word >> 63 << 64)}" for i, word in enumerate(words)]
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder) / "code.o"
        text = "\n".join([".option norvc", *lines, ""])
        tools = {name: shutil.which(f"riscv64-unknown-elf-{name}") for name in ("as", "objdump")}
        subprocess.run([tools["as"], "-o", code, "-"], input=text, text=True, check=True)
        listing = subprocess.run(
            [tools["objdump"], "-d", code], capture_output=True, text=True, check=True
        ).stdout
    parts = re.split(r"<f\d+>:\n", listing)[1:]
    found = [len(re.findall(r"^ +[0-9a-f]+:\t", part, re.MULTILINE)) for part in parts]
    assert found == [load_immediate_instructions(word) for word in words]


@st.composite
def related_operands(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Sums of the same few words: one is then often the distance of two others. So few that a
    function may use their registers as it likes."""
    terms = draw(st.lists(WORDS, min_size=1, max_size=4))
    factors = st.lists(st.sampled_from((0, 1, -1)), min_size=len(terms), max_size=len(terms))
    sums = factors.map(lambda by: sum(map(operator.mul, by, terms)) % 2**64)
    return draw(st.lists(st.tuples(sums, sums), min_size=1, max_size=5))


@given(related_operands())
@example([(2**31, 2**11), (2**31 + 2**11, 0)])  # the third is the second and the first
@example([(2**31, 2**31 + 2**40), (2**50, 2**50 + 2**40)])  # twice the same distance
@settings(max_examples=40, deadline=None)
def test_straight_code_is_charged_what_it_is(operands: list[tuple[int, int]]) -> None:
    body = tuple(Command(1, Operand.of(rs1), Operand.of(rs2)) for rs1, rs2 in operands)
    program = Program("straight", preset("gemmini-16x16"), (), body)
    with tempfile.TemporaryDirectory() as folder:
        machine = run_kernel(program, {}, Path(folder))
    assert machine.commands == [(1, rs1, rs2) for rs1, rs2 in operands]
    call = 1
    assert machine.instructions + call == host_cost(program.to_bytes()).instructions
