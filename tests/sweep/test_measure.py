"""The processes that measure, as a terminal sees them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest


@pytest.mark.long
def test_ctrl_c_is_one_line_and_does_not_wait(tmp_path: Path) -> None:
    """It reaches each process of the terminal, those that only begin as well."""
    command = (sys.executable, "-m", "npu_target", "sweep", "--model=matmuls", "--processes=2")
    process = subprocess.Popen(
        [*command, "--vary=dim=8,16,32", "-o", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while _n_measuring(process.pid) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130
    assert error.startswith("npu-target sweep: stopped; ") and error.count("\n") == 1, error


def _n_measuring(pid: int) -> int:
    children = psutil.Process(pid).children()
    return sum("spawn_main" in " ".join(child.cmdline()) for child in children)
