from __future__ import annotations

import io
import signal
import subprocess
import sys

import pytest

from npu_target.tuning.interrupt import Interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_asks_and_does_not_raise(number, capfd):
    before = signal.getsignal(number)
    with Interrupt() as interrupt:
        assert not interrupt()
        signal.raise_signal(number)
        assert interrupt() and interrupt.requested
        assert signal.getsignal(number) == signal.SIG_DFL, "a second one ends the process"
    assert signal.getsignal(number) is before
    assert "stopping after the current step" in capfd.readouterr().err


def test_a_signal_while_something_is_printed(monkeypatch, capfd):
    class Terminal(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            signal.raise_signal(signal.SIGINT)  # the stream's lock is held
            return len(data)

    stream = io.TextIOWrapper(io.BufferedWriter(Terminal()), line_buffering=True)
    monkeypatch.setattr(sys, "stderr", stream)
    with Interrupt() as interrupt:
        print("progress", file=sys.stderr)
        assert interrupt()
    assert "stopping after the current step" in capfd.readouterr().err


def test_a_terminal_that_is_gone():
    script = (
        "import os, signal\n"
        "from npu_target.tuning.interrupt import Interrupt\n"
        "os.close(2)\n"
        "with Interrupt() as interrupt:\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    os._exit(0 if interrupt() else 1)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


def test_a_second_signal_ends_the_process_even_in_foreign_code():
    script = (
        "import signal, threading, os, ctypes\n"
        "from npu_target.tuning.interrupt import Interrupt\n"
        "with Interrupt():\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()\n"
        "    ctypes.CDLL(None).sleep(60)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=30)
    assert done.returncode == -signal.SIGINT
