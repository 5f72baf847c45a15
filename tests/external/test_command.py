"""Commands that answer, and those that do not."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from fake_device import sleepers
from hypothesis import given
from hypothesis import strategies as st

from npu_target.external.command import Measured, RunCommand, cycles_of, printed_outputs
from npu_target.external.errors import CommandError, ExternalError

FAKE = Path(__file__).with_name("fake_runner.py")
DATA = bytes(range(20))


def run(how: str, folder: Path, output: str = "{output}", timeout_seconds: float = 30.0):
    elf = folder / "kernel.elf"
    elf.write_bytes(DATA)
    command = RunCommand.parse(f"{sys.executable} {FAKE} '{how}' {{elf}} {output}")
    return command.run(elf, folder / "inputs.bin", len(DATA), folder, timeout_seconds)


@pytest.mark.parametrize("output", ["{output}", "-"])
@pytest.mark.parametrize("how", ["well", "noise"])
def test_an_answer(how, output, tmp_path):
    assert run(how, tmp_path, output) == Measured(1234, DATA)


@pytest.mark.parametrize(
    ("how", "kind", "says"),
    [
        ("fail", "run_error", "exit code 3: something is | out of order"),
        ("refuse", "race", "command 7 mvin(...): too early"),
        ("no cycles", "bad_answer", "printed no line 'npu cycles N': all is well"),
        ("nonsense", "bad_answer", "'npu cycles many', which is no number"),
        ("no time", "bad_answer", "'npu cycles 0', which is no number"),
        ("two answers", "bad_answer", "several numbers of cycles: 5, 6"),
        ("none", "bad_answer", "left no file {output}"),
        ("few", "bad_answer", "too few bytes of outputs: needs 20, has 19"),
        ("many", "bad_answer", "too many bytes of outputs: needs 20, has 21"),
        ("endless", "bad_answer", "printed more than"),
    ],
)
def test_no_answer(how, kind, says, tmp_path):
    with pytest.raises(ExternalError) as caught:
        run(how, tmp_path)
    assert caught.value.kind == kind
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_both_outputs_tell_why(tmp_path):
    """What the ELF prints, and what runs it."""
    command = RunCommand.parse("sh -c 'echo no device; echo FAILED >&2; exit 1' {elf}")
    with pytest.raises(ExternalError, match=r"exit code 1: no device \| FAILED"):
        command.run(tmp_path / "kernel.elf", tmp_path / "inputs.bin", 1, tmp_path, 30.0)


def test_a_line_that_was_lost(tmp_path):
    with pytest.raises(ExternalError, match=r"'npu output 16 \.\.\.' where byte 8 follows"):
        run("a line lost", tmp_path, "-")


@pytest.mark.parametrize(("how", "kind"), [("hang", "timed_out"), ("leave a child", None)])
def test_nothing_is_left_behind(how, kind, tmp_path):
    started = time.monotonic()
    if kind is None:
        run(how, tmp_path)
    else:
        with pytest.raises(ExternalError, match=r"not done after 1\.5 s") as caught:
            run(how, tmp_path, timeout_seconds=1.5)
        assert caught.value.kind == kind
    assert time.monotonic() - started < 20
    deadline = time.monotonic() + 10
    while sleepers(tmp_path / "kernel.elf") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not sleepers(tmp_path / "kernel.elf")


def test_a_run_that_nobody_waits_for_is_ended(tmp_path):
    elf = tmp_path / "kernel.elf"
    elf.write_bytes(DATA)
    command = RunCommand.parse(f"{sys.executable} {FAKE} hang {{elf}} {{output}}")
    with pytest.raises(ExternalError, match="nobody waits"):
        command.run(elf, elf, len(DATA), tmp_path, 60.0, lambda: True)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("", "is empty"),
        ("true 'x", "No closing quotation"),
        ("true {elv}", "has {elv}; there are {elf}, {input}, {output}"),
        ("true {elf!r}", "has {elf!r}"),
        ("true {input} {output}", "has no {elf}"),
        ("awk {print} {elf}", "has {print}"),
        ("true { {elf}", "braces of its own are written twice"),
        ("no-such-program-at-all {elf}", "there is no program no-such-program-at-all"),
    ],
)
def test_commands_that_cannot_be(template, says):
    with pytest.raises(CommandError) as caught:
        RunCommand.parse(template)
    assert says in str(caught.value)


def test_no_shell_unless_it_is_written(tmp_path):
    elf = tmp_path / "kernel.elf"
    elf.write_bytes(DATA)
    plain = RunCommand.parse("echo {elf} ; $HOME {{}} npu cycles 7")
    with pytest.raises(ExternalError, match="too few bytes"):
        plain.run(elf, elf, len(DATA), tmp_path, 30.0)
    assert (tmp_path / "stdout.txt").read_text() == f"{elf} ; $HOME {{}} npu cycles 7\n"
    shell = RunCommand.parse('sh -c \'cp "$0" "$1"; echo npu cycles 7\' {elf} {output}')
    assert shell.run(elf, elf, len(DATA), tmp_path, 30.0) == Measured(7, DATA)


@given(st.binary(max_size=200), st.integers(1, 64), st.integers(1, 2**53))
def test_any_bytes_come_back_from_a_console(data, row, cycles):
    """Whatever the length of lines."""
    lines = [f"npu cycles {cycles}\r"]
    lines += [f"npu output {at} {data[at : at + row].hex()}" for at in range(0, len(data), row)]
    said = "\n".join(lines).encode() + b"\n"
    assert (cycles_of(said), printed_outputs(said)) == (cycles, data)
