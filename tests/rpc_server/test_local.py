"""Servers of one's own: what becomes of them when their start is interrupted."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from npu_target.device import preset
from rpc_server import local
from rpc_server.local import LocalServers
from rpc_server.process import Child


class Tracker:
    ready = "tracker on 127.0.0.1:1"

    def stop(self) -> None:
        pass


def test_those_that_are_starting_are_waited_for(tmp_path: Path, monkeypatch) -> None:
    """They read the device's file, which goes behind the `with` block."""
    came_up = []

    def start(self: LocalServers) -> None:
        time.sleep(0.2)  # until it is waited for
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)
        came_up.append(self)

    monkeypatch.setattr(local, "_tracker_child", lambda port: Tracker())
    monkeypatch.setattr(LocalServers, "_start_one", start)
    with (
        pytest.raises(KeyboardInterrupt),
        LocalServers(preset("gemmini-16x16"), 1, tmp_path),
    ):
        pass
    assert came_up


def test_a_child_that_is_waited_for_ends_with_the_wait(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "slow_child.py").write_text(
        "import os, signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ended = []
    kill = Child.kill
    monkeypatch.setattr(Child, "kill", lambda child: (kill(child), ended.append(child.exit_code())))
    with pytest.raises(KeyboardInterrupt):
        Child("slow_child")
    assert ended == [-signal.SIGKILL]
