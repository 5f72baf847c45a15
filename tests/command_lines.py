"""The commands of `npu-target` in this process, and command lines that end with an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from npu_target.cli.main import main

Command = Callable[[Sequence[str]], int]


def _command(*name: str) -> Command:
    return lambda arguments: main([*name, *arguments])


accuracy = _command("accuracy")
build = _command("build")
calibrate = _command("calibrate")
compile_operator = _command("compile")
export = _command("export")
logs = _command("logs")
new_device = _command("new-device")
program = _command("program")
run = _command("run")
sim = _command("sim")
sweep = _command("sweep")
tune = _command("tune")


def refusal(command: Command, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a command ends with, without what all begin with."""
    assert command(list(arguments)) == 1
    return said(capsys.readouterr().err)


def said(error: str) -> str:
    """The one line that is all of `error`, without its beginning."""
    prog, found, message = error.partition(": error: ")
    assert found and prog.startswith("npu-target ") and error.count("\n") == 1, error
    return message


def misuse(command: Command, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """As `refusal`, for options that are wrong."""
    assert _code(command, arguments) == 2
    return said(capsys.readouterr().err)


def one_line(command: Command, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """As `refusal`, for either, where nothing was printed before."""
    assert _code(command, arguments) in (1, 2)
    out, error = capsys.readouterr()
    assert out == ""
    return said(error)


def _code(command: Command, arguments: Sequence[str]) -> int:
    try:
        return command(list(arguments))
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        return ended.code
