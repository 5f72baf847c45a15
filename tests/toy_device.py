"""A kind of device of a few lines, for tests of what all kinds share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from npu_target.device import DeviceConfig, DeviceKind, Limits, Memories, Memory
from npu_target.device.command_set import CommandSet
from npu_target.device.commands import DeviceCommand, address, flag, uint

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
    row: int = uint(1, 2, 10)
    rows: int = uint(1, 12, 10, default=1, at_least=1, at_most=lambda config: config.lanes)
    stores: bool = flag(1, 22)


@dataclass(frozen=True)
class Multiply(DeviceCommand, mnemonic="multiply", tag=2, tag_mask=3, funct=0):
    """Multiply a vector with a matrix."""

    row: int = uint(1, 2, 10)
    relu: bool = flag(1, 12)

    def check_relations(self, config: ToyConfig) -> None:
        if self.relu:
            self.needs_feature(config, "has_relu", "relu")


COMMANDS = CommandSet((Copy, Multiply), computing=(Multiply,))


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
