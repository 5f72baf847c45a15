"""Commands told apart by a number and a tag in their first word."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from my_npu.commands import COMMANDS, Load, Multiply
from my_npu.config import MyNpuConfig

from npu_target.device.commands import DeviceCommand, IsaError, flag
from npu_target.devices.gemmini import GEMMINI
from npu_target.devices.gemmini.isa import Preload
from npu_target.program import Operand, device_command

ROWS, COUNTS = st.integers(0, 2**16 - 1), st.integers(0, 2**8 - 1)
ADDRESSES, STRIDES = st.integers(0, 2**64 - 1), st.integers(0, 2**28 - 1)
COPIES = st.builds(Load, ADDRESSES, ROWS, COUNTS, COUNTS, STRIDES, st.booleans())
PRODUCTS = st.builds(Multiply, ROWS, ROWS, ROWS, COUNTS, ROWS, st.booleans())


@given(COPIES | PRODUCTS)
def test_decode_inverts_encode(command: Load | Multiply) -> None:
    words = command.encode()
    assert COMMANDS.decode(*words) == command
    assert COMMANDS.disassemble([words]) == str(command)
    assert not COMMANDS.is_setting(*words[:2])


@pytest.mark.parametrize("word", [0, 5, 8])
def test_tags_that_no_command_has(word: int) -> None:
    assert COMMANDS.find(0, word) is None
    with pytest.raises(IsaError, match="the device has no such command"):
        COMMANDS.decode(0, word, 0)
    assert "raw  funct 0" in COMMANDS.disassemble([(0, word, 0)])


def test_where_the_numbers_of_rows_are() -> None:
    assert COMMANDS.row_bits(0, 1) == (((4, 16),), ())
    assert COMMANDS.row_bits(0, 4) == (((4, 16), (20, 16), (36, 16)), ())
    assert COMMANDS.row_bits(0, 5) == ((), ())
    assert GEMMINI.commands.row_bits(Preload.funct, 0) == (((0, 26),), ((0, 26),))


def test_reserved_bits_are_refused() -> None:
    with pytest.raises(IsaError, match=r"multiply: rs1 .* needs the reserved bits"):
        COMMANDS.decode(0, 4 | 1 << 60, 0)


def test_limits_are_the_devices() -> None:
    config = MyNpuConfig()
    Load(0, 0, 64, 16, 0).validate(config)
    with pytest.raises(IsaError, match="load: rows is 65, needs 1 to 64 on my_npu"):
        Load(0, 0, 65, 16, 0).validate(config)


@dataclass(frozen=True)
class Clip(DeviceCommand, mnemonic="clip", funct=0):
    relu: bool = flag(1, 0)

    def check_relations(self, config: Any) -> None:
        if self.relu:
            self.needs_feature(config, "has_relu", "relu")


def test_features_are_the_devices() -> None:
    plain = SimpleNamespace(name="plain", has_relu=False)
    Clip(False).validate(plain)
    Clip(True).validate(SimpleNamespace(name="other", has_relu=True))
    with pytest.raises(IsaError, match="clip: relu needs has_relu, plain has it off"):
        Clip(True).validate(plain)


def test_programs_of_them() -> None:
    """A tag is there whatever runs beside it."""
    place = {"row": Operand.of(5), "dram_address": Operand.argument(0)}
    command = device_command(Load, rows=2, columns=3, stride=0, **place)
    assert COMMANDS.find(command.funct, command.rs1.base) is Load
    assert command.rs1.base == 1 | 5 << 4 | 2 << 20 | 3 << 28
