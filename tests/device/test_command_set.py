"""Commands told apart by a number and a tag in their first word."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_device import COMMANDS, Copy, Multiply, ToyConfig, toy_kind

from npu_target.device.commands import IsaError
from npu_target.devices.gemmini import GEMMINI
from npu_target.devices.gemmini.isa import Preload
from npu_target.program import Operand, device_command

ROWS = st.integers(0, 2**10 - 1)
COPIES = st.builds(Copy, st.integers(0, 2**64 - 1), ROWS, ROWS, st.booleans())
PRODUCTS = st.builds(Multiply, ROWS, st.booleans())


@given(COPIES | PRODUCTS)
def test_decode_inverts_encode(command: Copy | Multiply) -> None:
    words = command.encode()
    assert COMMANDS.decode(*words) == command
    assert COMMANDS.disassemble([words]) == str(command)
    assert COMMANDS.is_computing(*words[:2]) == isinstance(command, Multiply)
    assert not COMMANDS.is_setting(*words[:2])


@pytest.mark.parametrize("word", [0, 3, 4])
def test_tags_that_no_command_has(word: int) -> None:
    assert COMMANDS.find(0, word) is None
    with pytest.raises(IsaError, match="the device has no such command"):
        COMMANDS.decode(0, word, 0)
    assert "raw  funct 0" in COMMANDS.disassemble([(0, word, 0)])


def test_where_the_numbers_of_rows_are() -> None:
    assert COMMANDS.row_bits(0, 1) == (((2, 10),), ())
    assert COMMANDS.row_bits(0, 3) == ((), ())
    assert GEMMINI.commands.row_bits(Preload.funct, 0) == (((0, 26),), ((0, 26),))


def test_reserved_bits_are_refused() -> None:
    with pytest.raises(IsaError, match=r"multiply: rs1 .* needs the reserved bits"):
        COMMANDS.decode(0, 2 | 1 << 40, 0)


def test_limits_are_the_devices(tmp_path: Path) -> None:
    config = toy_kind(tmp_path).presets[0]
    assert isinstance(config, ToyConfig)
    Copy(0, 0, 8).validate(config)
    with pytest.raises(IsaError, match="copy: rows is 9, needs 1 to 8 on toy-8"):
        Copy(0, 0, 9).validate(config)
    with pytest.raises(IsaError, match="multiply: relu needs has_relu, toy-8 has it off"):
        Multiply(0, True).validate(config.replace(has_relu=False))


def test_programs_of_them() -> None:
    """A tag is there whatever runs beside it."""
    command = device_command(Copy, row=Operand.of(5), dram_address=Operand.argument(0))
    assert COMMANDS.find(command.funct, command.rs1.base) is Copy
    assert command.rs1.base == 1 | 5 << 2 | 1 << 12
