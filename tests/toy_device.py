"""A kind of device of a few lines, for tests of what all kinds share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from npu_target.codegen.operations import Engine
from npu_target.device import DeviceConfig, DeviceKind, Features, Limits, Memories, Memory, features
from npu_target.device.command_set import CommandSet
from npu_target.device.commands import DeviceCommand, address, flag, uint
from npu_target.device.copy_rules import CopyRules
from npu_target.device.emission import Emission
from npu_target.device.intrinsic import Access, Intrinsic, Operand
from npu_target.device.numbers import Numbers
from npu_target.device.shift_rule import ShiftRule
from npu_target.program import device_command

LIMITS = """
FIELD(lanes, 2, 64)
FIELD(rows, 1, 1024)
FIELD(has_relu, 0, 1)
FIELD(clock_khz, 1, 1000000)
POWER_OF_TWO(lanes)
MULTIPLE(rows, lanes)
AT_MOST(lanes*rows, 4096, "what a row number can say")
"""
HOST_LIMITS = "".join(
    f"FIELD({name}, 0, 1000000)\n"
    for name in DeviceConfig.__dataclass_fields__
    if name.startswith("host_")
)


@dataclass(frozen=True)
class Copy(DeviceCommand, mnemonic="copy", tag=1, tag_mask=3, funct=0):
    """Copy rows between DRAM and the device."""

    dram_address: int = address(2)
    row: int = uint(1, 2, 10, is_row=True)
    rows: int = uint(1, 12, 10, default=1, at_least=1, at_most=lambda config: config.lanes)
    stores: bool = flag(1, 22)


@dataclass(frozen=True)
class Multiply(DeviceCommand, mnemonic="multiply", tag=2, tag_mask=3, funct=0):
    """Multiply a vector with a matrix."""

    row: int = uint(1, 2, 10, is_row=True)
    relu: bool = flag(1, 12)

    def check_relations(self, config: ToyConfig) -> None:
        if self.relu:
            self.needs_feature(config, "has_relu", "relu")


NUMBERS = Numbers(ShiftRule())
COMMANDS = CommandSet((Copy, Multiply), computing=(Multiply,))


class MultiplyStep(Intrinsic):
    """A vector times a matrix that stays where it is."""

    call = "toy.multiply"
    n_operands = 3
    multiplies = True

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        vector = Operand(Access.READ, 1)
        return (
            vector,
            Operand(Access.READ, self.config.lanes, follows=False),
            Operand(Access.ADD, 1),
        )

    def sizes(self, rows: int) -> list[tuple[int, int]]:
        return [(1, rows)]

    def cycles(self, blocks: int, rows: int, loaded: int) -> float:
        return blocks * rows

    def nodes(self, step, row, rows, *, new_stationary, overwrites):
        return (device_command(Multiply, row=0),)


INTRINSICS = (MultiplyStep,)
WRONG = (MultiplyStep, Copy)


class ToyCopyRules(CopyRules):
    """One block of columns."""

    def most_load_columns(self, element_bytes: int) -> int:
        return self.config.lanes

    def most_store_columns(self, store) -> int:
        return self.config.lanes

    def reaches_blocks(self, copy, block_rows: int) -> bool:
        return False


class ToyEmission(Emission):
    """One engine copies."""

    queue_entries = MappingProxyType({Engine.LOAD: 4})

    def copies(self, copy, transfer):
        return []


def toy_kind(folder: Path, name: str = "toy", **changes: object) -> DeviceKind:
    """The kind, its limits in a file of that folder."""
    path = folder / "limits.def"
    path.write_text(LIMITS + HOST_LIMITS)
    kind_name, first = name, f"{name}-8"

    @dataclass(frozen=True)
    class Config(ToyConfig):
        kind: ClassVar[str] = kind_name
        limits: ClassVar[Limits] = Limits(path)
        name: str = first

    fields: dict[str, object] = {
        "name": name,
        "config": Config,
        "presets": (Config(), Config(name=f"{name}-16", lanes=16)),
        "commands_at": "toy_device:COMMANDS",
        "intrinsics_at": "toy_device:INTRINSICS",
        "copy_rules_at": "toy_device:ToyCopyRules",
        "emission_at": "toy_device:ToyEmission",
        "numbers_at": "toy_device:NUMBERS",
        "features": lambda config: Features(step=features.MultiplyStep("toy.multiply", 1)),
        "operators": ("matmul",),
        **changes,
    }
    return DeviceKind(**fields)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ToyConfig(DeviceConfig):
    """Its numbers."""

    name: str = "toy"
    lanes: int = 8
    rows: int = 64
    has_relu: bool = True

    @property
    def dim(self) -> int:
        return self.lanes

    @property
    def memories(self) -> Memories:
        rows = Memory("global.toy_rows", "rows", self.rows, self.rows, self.lanes, "int8")
        sums = Memory("global.toy_sums", "sums", self.rows, self.rows, self.lanes, "int32")
        return Memories(rows, rows, sums)
