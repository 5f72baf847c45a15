"""What the device is told: the descriptor of a job, and to begin."""

from __future__ import annotations

from dataclasses import dataclass

from npu_target.device.command_set import CommandSet
from npu_target.device.commands import DeviceCommand, address, flag, scale, uint


@dataclass(frozen=True)
class Sizes(DeviceCommand, mnemonic="sizes", funct=0):
    """Of A [m, k], B [k, n] and C [m, n]."""

    m: int = uint(1, 0, 32)
    k: int = uint(1, 32, 32)
    n: int = uint(2, 0, 32)


@dataclass(frozen=True)
class Operands(DeviceCommand, mnemonic="operands", funct=1):
    """Where A and B lie."""

    a: int = address(1)
    b: int = address(2)


@dataclass(frozen=True)
class Results(DeviceCommand, mnemonic="results", funct=2):
    """Where the bias lies, int32 [n] (0: there is none), and C."""

    bias: int = address(1)
    out: int = address(2)


@dataclass(frozen=True)
class Multiply(DeviceCommand, mnemonic="multiply", funct=3):
    """C = requantize(A x B + bias). B is in blocks of lanes x lanes if `in_blocks`, those of the
    same columns after each other."""

    scale: float = scale(1, 0)
    relu: bool = flag(1, 32)
    in_blocks: bool = flag(1, 33)


COMMANDS = CommandSet((Sizes, Operands, Results, Multiply), computing=(Multiply,))
