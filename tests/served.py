"""`npu-target serve ...` in processes of their own."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import psutil

from rpc_server.address import Address


@contextlib.contextmanager
def running(what, *arguments, **settings):
    """`npu-target serve WHAT ...`, ended afterwards with all it started."""
    process = subprocess.Popen(
        [sys.executable, "-m", "npu_target", "serve", what, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )
    try:
        yield process
    finally:
        family = [psutil.Process(process.pid)] if process.poll() is None else []
        family += [child for parent in family for child in parent.children(recursive=True)]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        process.communicate()


@contextlib.contextmanager
def running_tracker(*arguments):
    with running("tracker", "--port", 0, *arguments) as process:
        line = process.stdout.readline()
        assert line.startswith("tracker listens on 127.0.0.1:")
        yield process, Address.parse(line.split()[-1])
