"""The simulator's sources, which need no TVM, as a part of an export."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType

from .. import device_api, devices

_SOURCES = frozenset({".cc", ".h", ".def"})


def has_simulator(kind: str) -> bool:
    """Whether this package simulates a kind of device in C++."""
    return _folder(devices, f"{kind}/simulator") is not None


def copy_simulator(kind: str, to: Path) -> None:
    """Copy what simulates such a kind: `sim/`, whatever the kind, and `<kind>/`."""
    sim = _folder(device_api, "sim")
    own = _folder(devices, f"{kind}/simulator")
    assert sim is not None and own is not None
    _copy(sim, to / "sim")
    _copy(own, to / kind / "simulator")
    for path in own.parent.glob("*.def"):
        shutil.copyfile(path, to / kind / path.name)


def _folder(package: ModuleType, name: str) -> Path | None:
    """The folder with sources; an editable install has two, sources and what was built."""
    for path in package.__path__:
        if any((Path(path) / name).glob("*.cc")):
            return Path(path) / name
    return None


def _copy(source: Path, to: Path) -> None:
    for path in sorted(source.rglob("*")):
        if path.suffix in _SOURCES:
            target = to / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
