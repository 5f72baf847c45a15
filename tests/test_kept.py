"""What is kept is found by those who run the same code, and costs time only where it cannot be."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_target import kept
from npu_target.kept import Kept

HOUR_SECONDS = 3600


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Where it is; what was edited a moment ago is code."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "_began_at", time.time)
    kept._version.cache_clear()
    yield tmp_path / "cache" / "npu_target" / "things"
    kept._version.cache_clear()


def things(*packages, most=None):
    return Kept("things", packages, most)


def names(folder):
    return sorted(path.name for path in folder.glob("*/*"))


def test_what_is_kept_is_found_again(folder):
    assert things().read("a") is None
    things().write("a", b"one")
    things().write("b", b"two")
    assert things().read("a") == b"one" and things().read("b") == b"two"
    assert things().read("c") is None
    things().write("a", b"three")
    assert things().read("a") == b"three"
    assert names(folder) == ["a", "b"]


def test_of_another_kind_it_is_not_found():
    things().write("a", b"one")
    assert Kept("others").read("a") is None


@pytest.mark.parametrize("other", ["tvm", "np"])
def test_other_code_finds_nothing(folder, monkeypatch, other):
    things().write("a", b"one")
    kept._version.cache_clear()
    monkeypatch.setattr(getattr(kept, other), "__version__", "0.0")
    assert things().read("a") is None
    things().write("a", b"two")
    assert things().read("a") == b"two"
    assert len(list(folder.iterdir())) == 2


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package's folder; written an hour ago."""
    path = tmp_path / "packages" / "package_of_test_kept"
    path.mkdir(parents=True)
    (path / "__init__.py").write_text("")
    (path / "tiles.py").write_text("SIZE = 16\n")
    make_older(path)
    monkeypatch.syspath_prepend(path.parent)
    importlib.import_module(path.name)
    yield path
    del sys.modules[path.name]


def make_older(folder: Path) -> None:
    for path in folder.glob("*.py"):
        written = path.stat().st_mtime - HOUR_SECONDS
        os.utime(path, (written, written))


def test_another_version_of_a_package_finds_nothing(package):
    things(package.name).write("a", b"one")
    assert things(package.name).read("a") == b"one"
    assert things().read("a") is None
    (package / "tiles.py").write_text("SIZE = 32\n")
    make_older(package)
    kept._version.cache_clear()
    assert things(package.name).read("a") is None


def test_code_newer_than_this_process_keeps_nothing(package, folder):
    """It may not be what this process runs."""
    (package / "tiles.py").write_text("SIZE = 32\n")
    written = (package / "tiles.py").stat().st_mtime + HOUR_SECONDS
    os.utime(package / "tiles.py", (written, written))
    things(package.name).write("a", b"one")
    assert things(package.name).read("a") is None and not folder.exists()


def test_code_written_just_before_a_process_began_is_what_it_runs():
    """As pip's, when a command follows it."""
    before = time.time()
    script = "from npu_target.kept import _began_at; print(_began_at())"
    began = float(subprocess.check_output([sys.executable, "-c", script]))
    assert before - 0.05 <= began <= time.time()


@pytest.mark.parametrize("file", [None, "/no/such/file.py"])
def test_code_that_is_in_no_file_keeps_nothing(folder, monkeypatch, file):
    """As what was typed into an interpreter, or whose file is gone."""
    module = ModuleType("typed_in")
    if file is not None:
        module.__file__ = file
    for known in (False, True):
        if known:
            monkeypatch.setitem(sys.modules, module.__name__, module)
        things(module.__name__).write("a", b"one")
        assert things(module.__name__).read("a") is None and not folder.exists()


def test_a_folder_that_cannot_be_written_keeps_nothing(folder):
    folder.parent.mkdir(parents=True)
    folder.write_text("a file in its place")
    things().write("a", b"one")
    assert things().read("a") is None


def test_what_cannot_be_read_is_not_there(folder):
    things().write("a", b"one")
    (file,) = folder.glob("*/a")
    file.unlink()
    file.mkdir()
    assert things().read("a") is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_found(data):
    content = data.draw(st.binary(max_size=40))
    things().write("a", content)
    (file,) = things()._folder.glob("*/a")
    whole = file.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(1, 255))
    file.write_bytes(whole[:at] + bytes([whole[at] ^ other]) + whole[at + 1 :])
    assert things().read("a") is None
    file.write_bytes(whole[:at])
    assert things().read("a") is None
    things().write("a", content)
    assert things().read("a") == content


def test_old_versions_go(folder):
    for version in range(kept._MOST_VERSIONS + 3):
        old = folder / f"old{version}"
        old.mkdir(parents=True)
        (old / "a").write_text("")
        os.utime(old, (version, version))
    things().write("a", b"one")
    left = {path.name for path in folder.iterdir()}
    assert len(left) == kept._MOST_VERSIONS
    assert {f"old{version}" for version in range(4)}.isdisjoint(left)
    assert things().read("a") == b"one"


def test_of_many_the_last_written_stay(folder):
    for at, name in enumerate("abcde"):
        things(most=3).write(name, b"")
        os.utime(next(folder.glob(f"*/{name}")), (at, at))
    things(most=3).write("f", b"")
    assert names(folder) == ["d", "e", "f"]
    things().write("g", b"")
    assert names(folder) == ["d", "e", "f", "g"]
