"""Signals that ask a process to stop."""

from __future__ import annotations

import subprocess
import sys

AT_EVERY_LINE = """
import signal, sys
from rpc_server.process import StopSignal

def interrupt(frame, event, argument):
    signal.raise_signal(signal.SIGINT)
    return interrupt

stop_signal = StopSignal()
assert not stop_signal.came(0)
sys.settrace(interrupt)
stop_signal.came(0.01)
sys.settrace(None)
assert stop_signal.came(0) and stop_signal.wait()
"""


def test_a_signal_may_come_at_any_line_of_a_wait():
    """Where a handler asks for a lock that the wait holds, this does not end."""
    subprocess.run([sys.executable, "-c", AT_EVERY_LINE], check=True, timeout=20)
