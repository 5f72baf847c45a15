"""Temporary folders, whatever their owner's end."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile

import pytest

from npu_target.scratch import ScratchError, scratch_folder

_OWNER = """
import sys, time
from npu_target.scratch import scratch_folder
with scratch_folder("test") as folder:
    (folder / "file").write_text("content")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """The system's folder for temporary files, of this test alone."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def owner():
    """A process that has a folder, and the folder."""
    process = subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def left(folder):
    return [path for path in folder.rglob("*") if path.name != f"npu_target-{os.getuid()}"]


def test_it_is_gone_afterwards_with_what_is_in_it(temporary):
    with scratch_folder("test") as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text("content")
        assert folder.stat().st_mode & 0o077 == 0
    assert not left(temporary)


def test_it_is_gone_after_an_error(temporary):
    with pytest.raises(RuntimeError), scratch_folder("test"):
        raise RuntimeError
    assert not left(temporary)


def test_the_next_start_clears_what_a_killed_process_left_and_only_that(temporary):
    killed, gone = owner()
    alive, kept = owner()
    try:
        killed.kill()
        killed.wait()
        assert os.path.exists(gone)
        with scratch_folder("test"):
            assert not os.path.exists(gone)
            assert os.path.exists(f"{kept}/file")
    finally:
        alive.send_signal(signal.SIGKILL)
        alive.wait()
        for process in (killed, alive):
            process.stdout.close()
    with scratch_folder("test") as folder:
        assert {path.name for path in left(temporary)} == {folder.name, f"{folder.name}.lock"}


def test_a_lock_that_another_start_takes_for_one_without_an_owner_is_made_again(
    temporary, monkeypatch
):
    lock = fcntl.flock

    def lock_late(descriptor, how):
        monkeypatch.setattr(fcntl, "flock", lock)
        with scratch_folder("other"):
            pass
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    open_files = len(os.listdir("/proc/self/fd"))
    with scratch_folder("test") as folder:
        assert {path.name for path in left(temporary)} == {folder.name, f"{folder.name}.lock"}
    assert not left(temporary)
    assert len(os.listdir("/proc/self/fd")) == open_files


def test_two_at_once_have_two(temporary):
    with scratch_folder("test") as one, scratch_folder("test") as two:
        assert one != two and one.is_dir() and two.is_dir()


@pytest.mark.parametrize("as_what", ["link", "file", "open"])
def test_a_home_that_others_could_use_is_refused(temporary, as_what):
    home = temporary / f"npu_target-{os.getuid()}"
    if as_what == "link":
        (temporary / "elsewhere").mkdir(mode=0o700)
        home.symlink_to(temporary / "elsewhere")
    elif as_what == "file":
        home.write_text("")
    else:
        home.mkdir()
        home.chmod(0o777)
    with pytest.raises(ScratchError, match="TMPDIR"), scratch_folder("test"):
        pass
