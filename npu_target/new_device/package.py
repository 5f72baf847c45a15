"""Writing the package of a new kind of device: the template under another name."""

from __future__ import annotations

import keyword
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from ..device import kinds, presets
from ..errors import UserError
from ..files import Pathish

TEMPLATE = Path(__file__).with_name("template")
# What the template's device is called, as a module and as the beginning of a class.
TEMPLATE_NAME, TEMPLATE_CLASS = "my_npu", "MyNpu"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_NOT_COPIED = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})


class NewDeviceError(UserError):
    """A package that cannot be written as it is asked for."""


def write_package(name: str, folder: Pathish) -> list[Path]:
    """Write the package of a kind of device called ``name`` to a folder that is not there yet, and
    give the paths of its files in it.

    The folder is whole or not there. Raises NewDeviceError for a name that no kind of device can
    have or that one has, and for a folder that is there or cannot be written.
    """
    _check_name(name)
    target = Path(folder)
    if target.exists() or target.is_symlink():
        raise NewDeviceError(f"{target} is there already")
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise NewDeviceError(f"{target} cannot be written: {error.strerror}") from error
    try:
        package = beside / "package"
        package.mkdir()
        written = [_write(source, name, package) for source in template_files()]
        # Fails where a folder has come to be there meanwhile, unless it is empty.
        os.rename(package, target)
    except OSError as error:
        raise NewDeviceError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return written


def template_files() -> Iterator[Path]:
    """The files of the template, as paths in its folder."""
    for path in sorted(TEMPLATE.rglob("*")):
        place = path.relative_to(TEMPLATE)
        if path.is_file() and not _NOT_COPIED.intersection(place.parts):
            yield place


def class_prefix(name: str) -> str:
    """What the names of the classes begin with: `my_npu` gives `MyNpu`."""
    return "".join(part.capitalize() for part in name.split("_"))


def _write(place: Path, name: str, package: Path) -> Path:
    renamed = Path(str(place).replace(TEMPLATE_NAME, name))
    text = (TEMPLATE / place).read_text(encoding="utf-8")
    text = text.replace(TEMPLATE_NAME, name).replace(TEMPLATE_CLASS, class_prefix(name))
    path = package / renamed
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return renamed


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise NewDeviceError(
            f"the name is {name!r}, must be 1 to 40 of the characters a-z 0-9 _ and begin with a "
            "letter, since a Python package is called so"
        )
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise NewDeviceError(f"the name {name!r} is a word of Python, which no package is called")
    if name in kinds() or name in presets():
        raise NewDeviceError(f"there is a device called {name!r} already")
    if _is_module(name):
        raise NewDeviceError(f"there is a Python package called {name!r} already")


def _is_module(name: str) -> bool:
    """Whether something would be imported by this name, other than a mere folder."""
    spec = find_spec(name)
    return spec is not None and spec.origin is not None
