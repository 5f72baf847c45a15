"""What a kind of device is: a manifest that names its parts.

The parts that need TVM are named, not imported: the manifest is read in the middle of
`import tvm`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pkgutil import resolve_name
from typing import Any

from .command_set import CommandSet
from .config import DeviceConfig

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class KindError(ValueError):
    """A manifest that is none of a kind of device, saying which part is wrong."""


@dataclass(frozen=True)
class DeviceKind:
    """One kind of device.

    A part that is a str is the place of an object, `package.module:object`, imported when it is
    first needed.

    name : of the kind, as files of devices and programs have it: lower case letters, digits and _.
    config : the class of its devices.
    presets : the known devices; the first one is what other devices are described by.
    commands_at : the place of its `CommandSet`.
    """

    name: str
    config: type[DeviceConfig]
    presets: tuple[DeviceConfig, ...]
    commands_at: str

    def __post_init__(self) -> None:
        """Raises KindError for what can be told without importing the parts."""
        if not _NAME.fullmatch(self.name):
            raise KindError(f"device kind {self.name!r}: the name must match {_NAME.pattern}")
        if self.config.kind != self.name:
            raise KindError(f"device kind {self.name}: its config is of kind {self.config.kind!r}")
        if not self.presets:
            raise KindError(f"device kind {self.name}: needs at least one preset")
        for preset in self.presets:
            if not isinstance(preset, self.config):
                raise KindError(
                    f"device kind {self.name}: preset {preset.name!r} is no {self.config.__name__}"
                )

    @cached_property
    def commands(self) -> CommandSet:
        """Its commands."""
        return self._part("commands_at", CommandSet)

    def check(self) -> None:
        """Import every part. Raises KindError for one that is not there or is something else."""
        _ = self.commands

    def _part(self, name: str, wanted: type) -> Any:
        place = getattr(self, name)
        try:
            part = resolve_name(place)
        except (ImportError, AttributeError, ValueError) as error:
            raise KindError(f"device kind {self.name}: {name} is {place!r}: {error}") from error
        if not isinstance(part, wanted):
            raise KindError(
                f"device kind {self.name}: {name} {place!r} is a {type(part).__name__}, "
                f"needs a {wanted.__name__}"
            )
        return part
