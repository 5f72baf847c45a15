"""Default schedules that were chosen before, kept in the user's cache folder.

To choose one takes a processor a second or two, and most commands need those of all of a network's
layers. What is chosen follows from the operator, the device's config, and the code that chooses. So
each is kept by all three, and where any of them is another one, nothing is found.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import psutil
import tvm

from ..device import DeviceConfig
from ..files import write_atomically
from ..schedule_rules import default_choice, knows_default, remember_default
from ..schedule_rules.choice import of_json, to_json
from ..topi import Operator
from ..user_cache import user_cache

_FOLDER = "defaults"
# Versions of code, and packages beside this one, whose defaults stay.
_MOST_VERSIONS = 8
_CODE = (".py", ".so")


class KeptDefaults:
    """Those of a device.

    They cost time only: what cannot be read is as if it had not been kept, what cannot be written
    is not, and neither is what packages choose that are no files, or newer ones than this process.
    """

    def __init__(self, config: DeviceConfig) -> None:
        self._config = config

    def recall(self, operator: Operator) -> bool:
        """Have `default_schedule` answer at once for the canonical operator, if that was chosen
        before, by this process or another; whether it was."""
        if knows_default(operator, self._config):
            return True
        path = self._path(operator)
        try:
            if path is None or not path.exists():
                return False
            choice = of_json(json.loads(path.read_bytes()))
        except (OSError, KeyError, TypeError, ValueError, AttributeError):
            return False
        remember_default(operator, self._config, choice)
        return True

    def keep(self, operator: Operator) -> None:
        """Keep what `default_schedule` takes for the canonical operator."""
        path = self._path(operator)
        if path is None:
            return
        data = json.dumps(to_json(default_choice(operator, self._config))).encode()
        try:
            if not path.parent.exists():
                path.parent.mkdir(parents=True, exist_ok=True)  # others may keep some now
                _remove_old_versions(path.parent.parent)
            write_atomically(path, data)
        except OSError:
            pass

    def _path(self, operator: Operator) -> Path | None:
        """Where it is kept, None if it cannot be."""
        kind = type(operator)
        packages = {_package_of(kind), _package_of(type(self._config)), _package_of(KeptDefaults)}
        version = _version(tuple(sorted(packages)))
        if version is None:
            return None
        name = [kind.__module__, kind.__qualname__, operator.attrs(), self._config.hash]
        digest = hashlib.sha256(json.dumps(name).encode()).hexdigest()[:32]
        return self._folder / version / f"{digest}.json"

    @cached_property
    def _folder(self) -> Path:
        return user_cache() / _FOLDER


def _package_of(kind: type) -> str:
    return kind.__module__.partition(".")[0]


@cache
def _version(packages: tuple[str, ...]) -> str | None:
    """Of these packages' code; None where that is not known."""
    found = hashlib.sha256(repr((tvm.__version__, np.__version__)).encode())
    try:
        for package in packages:
            files = _files(package)
            if not files or max(path.stat().st_mtime for path in files) > _began_at():
                return None
            for path in files:
                found.update(repr((path.name, path.stat().st_size)).encode())
                found.update(path.read_bytes())
    except OSError:
        return None
    return found.hexdigest()[:16]


def _files(package: str) -> list[Path]:
    """A package's, or that of a module that is none; none of what was typed in."""
    module = sys.modules.get(package)
    folders = [Path(path) for path in getattr(module, "__path__", ())]
    if not folders:
        file = getattr(module, "__file__", None)
        return [Path(file)] if file else []
    return sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in _CODE)


def _began_at() -> float:
    """When this process did, in seconds of the system's clock: it may run older code than what has
    been written since."""
    return psutil.Process().create_time()


def _remove_old_versions(folder: Path) -> None:
    versions = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    for path in versions[:-_MOST_VERSIONS]:
        shutil.rmtree(path, ignore_errors=True)
