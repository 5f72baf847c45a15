"""The simulator's sources, which need no TVM, for programs that have it inside."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

_SOURCES = frozenset({".cc", ".h", ".def"})
# Not imported: a kind of device may need what reading its sources does not.
_SHARED, _KINDS = "npu_target.device_api", "npu_target.devices"


def has_simulator(kind: str) -> bool:
    """Whether this package simulates a kind of device in C++."""
    return _folder(_KINDS, f"{kind}/simulator") is not None


def copy_simulator(kind: str, to: Path) -> None:
    """Copy what simulates such a kind: `sim/`, whatever the kind, and `<kind>/`.

    What is to be compiled, in half of the time that all sources take by themselves, are the files
    beside these folders: one of each folder with sources, which includes them.
    """
    sim = _folder(_SHARED, "sim")
    own = _folder(_KINDS, f"{kind}/simulator")
    assert sim is not None and own is not None
    _copy(sim, to / "sim")
    _copy(own, to / kind / "simulator")
    for path in own.parent.glob("*.def"):
        shutil.copyfile(path, to / kind / path.name)
    sources: dict[str, list[str]] = {}
    for path in sorted(to.rglob("*/*.cc")):
        place = path.relative_to(to)
        sources.setdefault("_".join(place.parent.parts), []).append(place.as_posix())
    for name, files in sources.items():
        (to / f"{name}.cc").write_text("".join(f'#include "{file}"\n' for file in files))


def _folder(package: str, name: str) -> Path | None:
    """The folder with sources; an editable install has two, sources and what was built."""
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations is not None
    for path in spec.submodule_search_locations:
        if any((Path(path) / name).glob("*.cc")):
            return Path(path) / name
    return None


def _copy(source: Path, to: Path) -> None:
    for path in sorted(source.rglob("*")):
        if path.suffix in _SOURCES:
            target = to / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
