"""Device servers on other hosts: one process here for each, by a command that runs another there.

A process there ends when its stdin closes, so that none is left behind when this one ends, however
that is.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from npu_target.errors import UserError

from .launchers import launch_command
from .process import ProcessError, StopSignal

_STOP_SECONDS = 15.0
_LOOK_SECONDS = 0.2
# A user and a host's name or address; none begins as an option does.
_HOST = re.compile(r"[A-Za-z0-9_\[:][A-Za-z0-9_.:@%\[\]-]*")


class HostsError(UserError, ValueError):
    """A list of hosts that cannot be used."""


def read_hosts(file: Path) -> list[str]:
    """The hosts in a file: one a line; `#` begins a comment. Raises HostsError."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise HostsError(f"{file} is no list of hosts: {error}") from error
    hosts: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        host = line.partition("#")[0].strip()
        if not host:
            continue
        if not _HOST.fullmatch(host):
            raise HostsError(f"{file}, line {number}: {host!r} is no host; one a line, as NAME")
        if host in hosts:
            raise HostsError(f"{file}, line {number}: {host} is in line {hosts[host]} already")
        hosts[host] = number
    if not hosts:
        raise HostsError(f"{file} has no hosts; one a line")
    return list(hosts)


class _Remote:
    """A process on a host; what it prints is printed here, after the host's name."""

    def __init__(self, launcher: str, host: str, command: Sequence[str]) -> None:
        self.host = host
        self.last_error = ""
        try:
            self.process = subprocess.Popen(
                launch_command(launcher, host, command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise ProcessError(f"{launcher} cannot be run: {error.strerror or error}") from error
        assert self.process.stdout is not None and self.process.stderr is not None
        self._readers = [
            threading.Thread(target=self._pass_on, args=pair, daemon=True)
            for pair in ((self.process.stdout, sys.stdout), (self.process.stderr, sys.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def why_ended(self) -> str:
        """In words, once it has ended."""
        for reader in self._readers:
            reader.join(_STOP_SECONDS)
        said = self.last_error or "it said nothing"
        return f"{self.host} (exit code {self.process.returncode}): {said}"

    def ask_to_stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def _pass_on(self, stream: IO[str], to: IO[str]) -> None:
        for line in stream:
            if to is sys.stderr and line.strip():
                self.last_error = line.strip()
            print(f"{self.host}: {line.rstrip()}", file=to, flush=True)


def launch(
    launcher: str, hosts: Sequence[str], command: Sequence[str], stop_signal: StopSignal
) -> None:
    """Run `command` on all hosts until asked to stop. Where one ends by itself, the others go on.

    Raises ProcessError, saying of each host why, where any has ended by itself.
    """
    remotes: list[_Remote] = []
    failed: list[str] = []
    try:
        for host in hosts:
            remotes.append(_Remote(launcher, host, command))
        while remotes and not stop_signal.came(_LOOK_SECONDS):
            for remote in [each for each in remotes if each.process.poll() is not None]:
                remotes.remove(remote)
                failed.append(remote.why_ended())
                if remotes:
                    print(f"no servers on {failed[-1]}; others go on", file=sys.stderr, flush=True)
    finally:
        _stop(remotes)
    if failed:
        raise ProcessError(f"no servers on {'; '.join(failed)}")


def _stop(remotes: Sequence[_Remote]) -> None:
    for remote in remotes:
        remote.ask_to_stop()
    deadline = time.monotonic() + _STOP_SECONDS
    for remote in remotes:
        try:
            remote.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            remote.process.kill()
            remote.process.wait()
            print(f"{remote.host}: did not stop and was given up", file=sys.stderr, flush=True)
