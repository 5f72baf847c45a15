"""Fields of commands, in any order."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from npu_target.device.commands import DeviceCommand, IsaError, flag, uint
from npu_target.program import Command, Operand, device_command


@dataclass(frozen=True)
class Copy(DeviceCommand, mnemonic="copy", funct=0):
    """Fields in the order of their bits, a flag among them."""

    row: int = uint(1, 0, 8)
    fills: bool = flag(1, 8)
    columns: int = uint(1, 9, 8, at_least=1)
    wide: bool = flag(1, 17)


@dataclass(frozen=True)
class Further(Copy, mnemonic="further", funct=1):
    """With a field behind those of another."""

    lines: int = uint(2, 0, 8)


def test_a_field_that_has_to_be_given_may_follow_a_flag() -> None:
    copy = Copy(3, columns=4)
    assert copy.encode() == (0, 3 | 4 << 9, 0)
    assert Copy(3, True, columns=4) == Copy(row=3, fills=True, columns=4, wide=False)
    assert list(Copy.specs()) == ["row", "fills", "columns", "wide"], "as they are declared"
    assert str(copy) == "copy  row=3, columns=4"
    assert Copy.decode_words(3 | 4 << 9, 0) == copy
    command = device_command(Copy, row=3, columns=4)
    assert command == Command(0, Operand.of(3 | 4 << 9), Operand.of(0))
    with pytest.raises(TypeError, match="columns"):
        Copy(3, True)  # type: ignore[call-arg]
    with pytest.raises(IsaError, match="copy: needs the field columns"):
        device_command(Copy, row=3)


def test_fields_of_a_class_behind_those_of_its_base() -> None:
    assert Further(3, columns=4, lines=5).encode() == (1, 3 | 4 << 9, 5)
    with pytest.raises(TypeError, match="lines"):
        Further(3, columns=4)  # type: ignore[call-arg]
