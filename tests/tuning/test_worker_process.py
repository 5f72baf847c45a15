from __future__ import annotations

import os
import signal
import subprocess
import threading
import time

import pytest

from npu_target.tuning import worker_process
from npu_target.tuning.worker_process import (
    WorkerDied,
    WorkerError,
    WorkerProcess,
    WorkerTimeout,
)


@pytest.fixture
def worker(tmp_path):
    process = WorkerProcess(tmp_path / "output.log", "os")
    yield process
    process.stop()


def test_calls_go_to_one_other_process(worker):
    first = worker.call(os.getpid, timeout_seconds=30)
    assert first == worker.call(os.getpid, timeout_seconds=30) != os.getpid()
    assert worker.call(max, 3, 7, timeout_seconds=30) == 7


def test_an_exception_comes_back_with_its_type_and_text(worker):
    with pytest.raises(WorkerError, match="Traceback") as caught:
        worker.call(int, "x", timeout_seconds=30)
    assert caught.value.kind == "ValueError" and "invalid literal" in caught.value.text
    assert worker.call(max, 1, 2, timeout_seconds=30) == 2


def test_a_hung_call_is_ended_and_the_next_one_works(worker):
    with pytest.raises(WorkerTimeout, match=r"no answer in 0\.2 s"):
        worker.call(time.sleep, 60, timeout_seconds=0.2)
    assert worker.call(max, 1, 2, timeout_seconds=30) == 2


def test_a_crash_is_told_and_the_next_call_works(worker):
    with pytest.raises(WorkerDied):
        worker.call(os.abort, timeout_seconds=30)
    assert worker.call(max, 1, 2, timeout_seconds=30) == 2


def test_stopping_from_another_thread_ends_a_call(worker):
    worker.call(os.getpid, timeout_seconds=30)
    threading.Timer(0.2, worker.stop).start()
    started = time.monotonic()
    with pytest.raises(WorkerDied):
        worker.call(time.sleep, 60, timeout_seconds=60)
    assert time.monotonic() - started < 10
    with pytest.raises(WorkerDied, match="was stopped"):
        worker.call(max, 1, 2, timeout_seconds=30)


def test_a_process_that_a_call_loses_while_it_is_stopped(worker, monkeypatch):
    """The call's thread sees the end of the process that `stop` killed before `stop` goes on."""
    worker.call(os.getpid, timeout_seconds=30)
    died = []

    def call():
        with pytest.raises(WorkerDied) as error:
            worker.call(time.sleep, 60, timeout_seconds=60)
        died.append(error.value)

    calling = threading.Thread(target=call)
    kill = subprocess.Popen.kill

    def kill_and_let_the_call_end(process):
        kill(process)
        if threading.current_thread() is threading.main_thread():
            calling.join(30)

    monkeypatch.setattr(subprocess.Popen, "kill", kill_and_let_the_call_end)
    calling.start()
    worker.stop()
    assert len(died) == 1 and not calling.is_alive()


def test_a_machine_that_starts_no_process_is_told(worker, monkeypatch):
    def refuses(*arguments, **options):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(worker_process.subprocess, "Popen", refuses)
    with pytest.raises(WorkerDied, match=r"did not start: .*temporarily unavailable"):
        worker.start()
    monkeypatch.undo()
    assert worker.start()


def test_what_it_prints_goes_to_the_file(worker, tmp_path):
    worker.call(os.system, "echo to stdout; echo to stderr >&2", timeout_seconds=30)
    assert (tmp_path / "output.log").read_text() == "to stdout\nto stderr\n"


def test_ctrl_c_in_the_terminal_does_not_reach_it(worker):
    pid = worker.call(os.getpid, timeout_seconds=30)
    os.kill(pid, signal.SIGINT)
    assert worker.call(os.getpid, timeout_seconds=30) == pid
