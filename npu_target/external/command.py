"""A command of the user's that runs an ELF, and what it answers.

It says the cycles in a line of its standard output, `npu cycles 12345`, and leaves the bytes of the
outputs, one after the other, in the file `{output}`; or, where it has no `{output}`, prints them in
lines `npu output 64 00ff...`, the number of the first one and the bytes as hexadecimal digits. Our
ELFs print both. Lines of others, and what stands before `npu` in a line, are skipped.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

from ..device.error_text import device_error_in
from ..process_tree import descendants, kill_all
from .errors import BadAnswer, CommandError, RunFailed, RunTimedOut

PLACEHOLDERS = ("elf", "input", "output")

_CYCLES = re.compile(rb"npu cycles[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)
_OUTPUT = re.compile(rb"npu output (\d+) ([0-9a-fA-F]*)[ \t\r]*$", re.MULTILINE)
_POLL_SECONDS = 0.02
_MOST_POLL_SECONDS = 0.5
_LAST_LINES = 3
_MOST_CHARACTERS = 400
_MOST_CYCLES = 2**53
# Of what a command prints, besides its outputs.
_MOST_PRINTED_BYTES = 16 << 20


@dataclass(frozen=True)
class Measured:
    """The cycles of one run, and the bytes of the program's outputs, one after the other."""

    cycles: int
    outputs: bytes


@dataclass(frozen=True)
class RunCommand:
    """`words` may have placeholders in them: see `parse`. The command is started in `folder`."""

    words: tuple[str, ...]
    folder: Path

    @classmethod
    def parse(cls, template: str) -> RunCommand:
        """Read `COMMAND {elf} {input} {output}`, quoted as for a shell; none is started unless the
        command is one. A brace that is no placeholder is written twice. It will be started in the
        folder that this process is in now: TVM's server gives each session another.

        Raises CommandError for what cannot be read, another placeholder, no `{elf}`, and a program
        that is not there.
        """
        try:
            words = tuple(shlex.split(template))
        except ValueError as error:
            raise CommandError(f"the command {template!r} cannot be read: {error}") from error
        if not words:
            raise CommandError("the command is empty; it needs a program and {elf}")
        names = [name for word in words for name in _placeholders(word, template)]
        for name in names:
            if name not in PLACEHOLDERS:
                known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
                raise CommandError(
                    f"the command {template!r} has {{{name}}}; there are {known}; braces of "
                    "its own are written twice"
                )
        if "elf" not in names:
            raise CommandError(f"the command {template!r} has no {{elf}}, so it has nothing to run")
        if not _placeholders(words[0], template) and shutil.which(words[0]) is None:
            raise CommandError(f"the command {template!r}: there is no program {words[0]}")
        return cls(words, Path.cwd())

    @property
    def program(self) -> str:
        """What is started."""
        return self.words[0]

    def takes(self, placeholder: str) -> bool:
        """Whether the command has this one of PLACEHOLDERS."""
        return any(placeholder in _placeholders(word, word) for word in self.words)

    def run(
        self,
        elf: Path,
        inputs: Path,
        output_bytes: int,
        folder: Path,
        timeout_seconds: float,
        is_given_up: Callable[[], bool] = lambda: False,
    ) -> Measured:
        """Start the command and wait for its end. When that is, it and all that it started is gone.

        elf, inputs : what takes the places of `{elf}` and `{input}`.
        output_bytes : of the program's outputs.
        folder : for what it leaves behind; `{output}` is there.
        is_given_up : asked meanwhile; the command is ended where it says so.

        Raises RunTimedOut, RunFailed and BadAnswer.
        """
        output = folder / "outputs.bin"
        output.unlink(missing_ok=True)
        places = {"elf": str(elf.resolve()), "input": str(inputs.resolve()), "output": str(output)}
        words = [word.format(**places) for word in self.words]
        limit = _MOST_PRINTED_BYTES + 4 * output_bytes
        printed, errors = folder / "stdout.txt", folder / "stderr.txt"
        code = _run(words, self.folder, printed, errors, timeout_seconds, limit, is_given_up)
        said = printed.read_bytes()
        if code != 0:
            raise _failure(code, said, errors.read_bytes())
        cycles = cycles_of(said, errors.read_bytes())
        outputs = _file(output) if self.takes("output") else printed_outputs(said)
        if len(outputs) != output_bytes:
            few = "few" if len(outputs) < output_bytes else "many"
            raise BadAnswer(
                f"the command left too {few} bytes of outputs: needs {output_bytes}, has "
                f"{len(outputs)}"
            )
        return Measured(cycles, outputs)


def _placeholders(word: str, template: str) -> list[str]:
    try:
        parts = list(Formatter().parse(word))
    except ValueError as error:
        raise CommandError(
            f"the command {template!r}: {error}; braces of its own are written twice"
        ) from error
    return [
        name + (f"!{how}" if how else "") + (f":{spec}" if spec else "")
        for _, name, spec, how in parts
        if name is not None
    ]


def _run(
    words: list[str],
    cwd: Path,
    printed: Path,
    errors: Path,
    timeout_seconds: float,
    most_bytes: int,
    is_given_up: Callable[[], bool],
) -> int:
    """The exit code, minus the number of a signal."""
    with printed.open("wb") as stdout, errors.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                words,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise RunFailed(f"the command cannot be started: {reason}") from error
        deadline = time.monotonic() + timeout_seconds
        wait = _POLL_SECONDS
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(min(wait, max(0.0, deadline - time.monotonic())))
                wait = min(2 * wait, _MOST_POLL_SECONDS)
                if time.monotonic() >= deadline:
                    raise RunTimedOut(f"the command was not done after {timeout_seconds:g} s")
                if (
                    os.fstat(stdout.fileno()).st_size + os.fstat(stderr.fileno()).st_size
                    > most_bytes
                ):
                    raise BadAnswer(
                        f"the command printed more than {most_bytes} bytes, and was ended"
                    )
                if is_given_up():
                    raise RunFailed("nobody waits for the command any more, and it was ended")
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a command: itself, its descendants, and its process group, which has
    those whose parents have ended."""
    left = descendants(process.pid) if process.poll() is None else []
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kill_all(left)


def _failure(code: int, said: bytes, errors: bytes) -> RunFailed:
    # Without an operating system an ELF has its say on standard output, and what runs it on stderr.
    text = "\n".join(part.decode(errors="replace") for part in (said, errors))
    refusal = device_error_in(text)
    if refusal is not None:
        return RunFailed(refusal.message[:_MOST_CHARACTERS], refusal.kind)
    how = f"exit code {code}"
    if code < 0:
        how = f"signal {-code}"
        with suppress(ValueError):
            how = signal.Signals(-code).name
    return RunFailed(f"the command ended with {how}{_last_lines(text)}")


def _last_lines(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()][-_LAST_LINES:]
    return f": {' | '.join(lines)[-_MOST_CHARACTERS:]}" if lines else ", and printed nothing"


def cycles_of(said: bytes, errors: bytes = b"") -> int:
    """What a command says of them. Raises BadAnswer, with the last lines of either output."""
    found = {match.decode(errors="replace") for match in _CYCLES.findall(said)}
    if not found:
        text = (said or errors).decode(errors="replace")
        raise BadAnswer(f"the command printed no line 'npu cycles N'{_last_lines(text)}")
    if len(found) > 1:
        shown = ", ".join(sorted(found)[:4])[:_MOST_CHARACTERS]
        raise BadAnswer(f"the command printed several numbers of cycles: {shown}")
    (text,) = found
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:20]) <= _MOST_CYCLES):
        raise BadAnswer(
            f"the command printed 'npu cycles {text[:_MOST_CHARACTERS]}', which is no number of "
            "cycles"
        )
    return int(text)


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadAnswer(
            "the command left no file {output}, in which it should put the bytes of the outputs"
        ) from error


def printed_outputs(said: bytes) -> bytes:
    """Those in its lines. Raises BadAnswer where one is missing."""
    outputs = bytearray()
    for position, digits in _OUTPUT.findall(said):
        if int(position) != len(outputs) or len(digits) % 2:
            raise BadAnswer(
                f"the command printed 'npu output {position.decode()} ...' where byte "
                f"{len(outputs)} follows: lines are missing or damaged"
            )
        outputs += bytes.fromhex(digits.decode())
    return bytes(outputs)
