"""The kinds of device that are installed, and finding a device by its name or file.

A package registers its kinds by entry points of the group `npu_target.devices`, each the place of
a `DeviceKind`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ..files import Pathish
from .config import DeviceConfig
from .config_file import read
from .kind import DeviceKind
from .limits import ConfigError

ENTRY_POINTS = "npu_target.devices"
DEFAULT_DEVICE = "gemmini-16x16"


class Installed(NamedTuple):
    """The installed kinds by name, and of each that cannot be used, what it is and why."""

    kinds: Mapping[str, DeviceKind]
    left_out: tuple[str, ...]


@cache
def installed() -> Installed:
    """What the entry points give. One that cannot be loaded is left out, with a warning."""
    found: dict[str, DeviceKind] = {}
    left_out = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            kind = point.load()
            if not isinstance(kind, DeviceKind):
                raise ConfigError(f"is a {type(kind).__name__}, needs a DeviceKind")
            if kind.name in found:
                raise ConfigError(f"there is another kind of device called {kind.name!r}")
            taken = [p.name for k in found.values() for p in k.presets]
            for preset in kind.presets:
                if preset.name in taken:
                    raise ConfigError(f"there is another preset called {preset.name!r}")
        except Exception as error:  # noqa: BLE001  a package of others must not break this one
            left_out.append(f"device {point.name} ({point.value}) cannot be used: {error}")
            warnings.warn(left_out[-1], stacklevel=2)
            continue
        found[kind.name] = kind
    return Installed(MappingProxyType(found), tuple(left_out))


def kinds() -> Mapping[str, DeviceKind]:
    """The installed kinds by name that can be used."""
    return installed().kinds


def kind_named(name: str) -> DeviceKind:
    """The installed kind of this name. Raises ConfigError when there is none."""
    if name not in kinds():
        raise ConfigError(
            f"no kind of device is called {name!r}; installed are: {', '.join(kinds()) or 'none'}"
            f"{_left_out()}"
        )
    return kinds()[name]


def kind_of(config: DeviceConfig) -> DeviceKind:
    """The kind of a device."""
    return kind_named(config.kind)


@cache
def presets() -> Mapping[str, DeviceConfig]:
    """The known devices of all kinds by name."""
    return MappingProxyType(
        {preset.name: preset for kind in kinds().values() for preset in kind.presets}
    )


def preset(name: str) -> DeviceConfig:
    """The known device of this name. Raises ConfigError for an unknown one."""
    if name not in presets():
        raise ConfigError(f"no device preset is called {name!r}; there are: {_known()}")
    return presets()[name]


def find(name_or_file: str) -> DeviceConfig:
    """The preset of this name, else what is in the file of this name (see `load`).

    Raises ConfigError when it is neither.
    """
    if name_or_file in presets():
        return presets()[name_or_file]
    path = Path(name_or_file)
    if not path.exists() or path.is_dir():  # as a package may be called that has not come to be one
        raise ConfigError(
            f"no device is called {name_or_file!r}, and there is no such file; "
            f"there are: {_known()}"
        )
    try:
        return load(name_or_file)
    except OSError as error:
        raise ConfigError(f"{name_or_file}: cannot be read: {error.strerror}") from error


def load(path: Pathish) -> DeviceConfig:
    """Read what `DeviceConfig.save` wrote.

    Raises ConfigError for a file that is not such, OSError when it cannot be read.
    """
    kind, fields = read(path)
    try:
        config = kind_named(kind).config
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    return config.from_dict(fields, source=str(path))


def _known() -> str:
    none = "none, for this package is not installed, only on Python's path: pip install -e ."
    return (", ".join(presets()) or none) + _left_out()


def _left_out() -> str:
    """What else is installed, for who asks for one of these."""
    return "".join(f"; {reason}" for reason in installed().left_out)
