"""A device that is a fake compiler and a fake command: for tests of the way to commands of the
user's, without a compiler for RISC-V and an emulator."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path

import psutil
import pytest

from npu_target.device import DeviceConfig, kind_of
from npu_target.topi import Operator
from npu_target.tuning.expected import expected_output, sample_inputs
from rpc_server.address import Address

RUNNER = "fake"
_FOLDER = Path(__file__).parent / "external"


@dataclass(frozen=True)
class FakeDevice:
    """Answers as a right device does for one operator, and misbehaves when told to."""

    folder: Path

    def computes(self, operator: Operator, config: DeviceConfig, seed: int = 0) -> None:
        """Have it give this operator's output from now on."""
        inputs = sample_inputs(operator, seed)
        output = expected_output(operator, inputs, kind_of(config).numbers)
        self.answer.write_bytes(output.tobytes())

    @property
    def answer(self) -> Path:
        """The bytes of a right run."""
        return self.folder / "answer.bin"

    def behaves(self, hows: Sequence[str]) -> None:
        """Have its next runs go so (see fake_runner.py), all later ones well."""
        (self.folder / "how").write_text("".join(f"{how}\n" for how in hows))

    @property
    def arguments(self) -> list[str]:
        """What makes a server one of this device. Paths are from the folder of this process, as one
        writes them: servers, and compilers, run in others."""
        self.behaves([])
        script, how = relpath(_FOLDER / "fake_runner.py"), relpath(self.folder / "how")
        words = [sys.executable, script, f"@{how}"]
        command = shlex.join(map(str, [*words, self.answer]))
        return [
            f"--run-with=env IN={{input}} {command} {{output}} {{elf}}",
            f"--elf-cc={relpath(_FOLDER / 'fake_gcc.sh')}",
            f"--runner={RUNNER}",
        ]

    @contextmanager
    def served(self) -> Iterator[Address]:
        """A tracker with a server of this device, which keeps what it compiles in its folder."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(self.folder / "cache"))
            with served(*self.arguments) as address:
                yield address


def sleepers(answer: Path) -> list[psutil.Process]:
    """What fake_runner.py has started for this answer and is not gone."""
    found = psutil.process_iter(["cmdline", "status"])
    return [
        process
        for process in found
        if str(answer) in (process.info["cmdline"] or [])
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


@contextmanager
def served(*arguments: str) -> Iterator[Address]:
    """A tracker on loopback with one server of these arguments: the tracker's address."""
    with _running("tracker", "--port=0") as line:
        tracker = Address.parse(line.split()[-1])
        with _running("devices", f"--tracker={tracker}", *arguments) as line:
            assert line.startswith("serving "), line
            yield tracker


@contextmanager
def _running(what: str, *arguments: str) -> Iterator[str]:
    """The first line that it says. It is asked to stop at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "npu_target", "serve", what, *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline()
    finally:
        process.terminate()
        process.communicate(timeout=30)
