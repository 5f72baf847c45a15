"""Processes that end with others."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from npu_target.process_tree import descendants, kill_all

# A pool of two, busy for longer than any test.
POOL = """
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from npu_target.process_tree import end_with_parent

if __name__ == "__main__":
    context = get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context, initializer=end_with_parent) as pool:
        jobs = [pool.submit(time.sleep, 600) for _ in range(2)]
        while not all(job.running() for job in jobs):
            time.sleep(0.01)
        print("busy", flush=True)
        time.sleep(600)
"""


def are_gone(processes: list[psutil.Process], seconds: float = 20) -> bool:
    """Whether all have ended by then, even if nobody asked yet how."""
    deadline = time.monotonic() + seconds
    while not all(map(is_gone, processes)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def pool(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "busy\n"
    children = descendants(process.pid)
    yield process, children
    kill_all(children)
    process.kill()
    process.wait()


def test_processes_of_a_pool_work_on_while_the_one_that_started_them_lives(pool):
    _, children = pool
    time.sleep(1)
    assert not any(map(is_gone, children))


def test_what_its_descendants_started_descends_from_a_process_too(pool):
    process, children = pool
    found = {each.pid for each in descendants(os.getpid())}
    assert {process.pid, *(child.pid for child in children)} <= found


def test_processes_of_a_pool_end_with_the_one_that_started_them(pool):
    process, children = pool
    assert len(children) >= 2
    process.kill()
    process.wait()
    assert are_gone(children)


def test_what_a_process_started_is_killed(pool):
    process, children = pool
    kill_all(children)
    assert are_gone(children)
    process.kill()
    process.wait()
    assert descendants(process.pid) == []
    kill_all(children)  # of those that are gone nothing is left to do
