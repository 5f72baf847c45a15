"""`npu-target program`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import one_line
from command_lines import program as main

from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.isa import LocalAddress, Mvin
from npu_target.program import (
    Arg,
    Command,
    Loop,
    Operand,
    Program,
    const,
    device_command,
    var,
)
from npu_target.program.c import kernel_source

PROGRAM = Program(
    "kernel",
    GemminiConfig(),
    (Arg("x", "input", "int8", (16,)), Arg("y", "output", "int8", (16,))),
    (Loop(0, const(3), (Command(2, Operand.argument(0, 16 * var(0)), Operand.argument(1)),)),),
)


@pytest.fixture
def file(tmp_path: Path) -> str:
    PROGRAM.save(tmp_path / "kernel.npu")
    return str(tmp_path / "kernel.npu")


def test_show(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", file]) == 0
    assert capsys.readouterr() == (f"{PROGRAM}\n", "")


def test_c(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["c", file]) == 0
    assert capsys.readouterr() == (kernel_source(PROGRAM), "")
    assert main(["c", "--header"]) == 0
    assert "#define npu(funct, rs1, rs2)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "addresses",
    [
        ["--address", "x=0x80010000", "--address", "y=64"],
        ["--address", "x=0x80010000", "y=0x40"],
    ],
)
def test_expand(file: str, addresses: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expand", file, *addresses]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert [json.loads(line) for line in out.splitlines()] == [
        [2, "0x80010000", "0x40"],
        [2, "0x80010010", "0x40"],
        [2, "0x80010020", "0x40"],
    ]


@pytest.mark.parametrize(("limit", "lines"), [("0", 0), ("2", 2), ("9", 3)])
def test_limit(file: str, limit: str, lines: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expand", file, "--address", "x=0", "y=0", "--limit", limit]) == 0
    assert len(capsys.readouterr().out.splitlines()) == lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["expand", "{file}"], "no address for x, y; program kernel has the arguments x, y"),
        (["expand", "{file}", "--address", "x=0"], "no address for y;"),
        (["expand", "{file}", "--address", "x=0", "y=0", "z=0"], "no argument is called z;"),
        (["expand", "{file}", "--address", "x"], "--address: x: needs NAME=ADDRESS, such as"),
        (["expand", "{file}", "--address", "x=0q"], "--address: x=0q: needs NAME=ADDRESS"),
        (["expand", "{file}", "--address", "x=-1"], "--address: x=-1: needs NAME=ADDRESS"),
        (["expand", "{file}", "--address", "=1"], "--address: =1: needs NAME=ADDRESS"),
        (["expand", "{file}", "--address", "x=0", "x=0"], "x has an address already"),
        (["expand", "{file}", "--address", "x=0", f"y={2**64}"], "its 16 bytes need 64-bit"),
        (
            ["expand", "{file}", "--address", "x=0", "y=0", "--limit", "-1"],
            "must be at least 0, got -1",
        ),
        (
            ["expand", "{file}", "--address", "x=0", "y=0", "--limit", "a"],
            "must be a whole number, got",
        ),
        (["show", "{file}.missing"], "kernel.npu.missing: No such file or directory"),
        (["show", "{folder}"], "Is a directory"),
        (["show", "{corrupt}"], "corrupt.npu: corrupt, the checksum does not match"),
        (["show", "{text}"], "text.npu: not a program file"),
        (["show"], "the following arguments are required: FILE"),
        (["c"], "needs either a program file or --header"),
        (["c", "{file}", "--header"], "needs either a program file or --header"),
        (["c", "{text}"], "text.npu: not a program file"),
        ([], "the following arguments are required: show|c|expand"),
        (["print", "{file}"], "invalid choice: 'print'"),
    ],
)
def test_errors_are_one_line(
    file: str,
    tmp_path: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "corrupt.npu").write_bytes(PROGRAM.to_bytes()[:-1] + b"\xff")
    (tmp_path / "text.npu").write_text("hello")
    names = {
        "file": file,
        "folder": str(tmp_path),
        "corrupt": str(tmp_path / "corrupt.npu"),
        "text": str(tmp_path / "text.npu"),
    }
    assert message in one_line(main, capsys, *[argument.format(**names) for argument in arguments])


def run(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "npu_target", "program", *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_show_knows_the_commands_in_a_process_of_its_own(tmp_path: Path) -> None:
    load = device_command(
        Mvin, dram_address=Operand.argument(0), local=LocalAddress.spad(0), cols=16, rows=1
    )
    Program("kernel", GemminiConfig(), PROGRAM.args, (load,)).save(tmp_path / "kernel.npu")
    shown = run("show", str(tmp_path / "kernel.npu"))
    assert "mvin  x -> spad[0x0], 16 cols, 1 rows" in shown.stdout


def test_as_a_command(file: str, tmp_path: Path) -> None:
    shown = run("show", file)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"{PROGRAM}\n", "")
    expanded = run("expand", file, "--address", "x=0x10", "y=0x20", "--limit", "1")
    assert (expanded.returncode, expanded.stdout) == (0, '[2, "0x10", "0x20"]\n')
    missing = run("show", str(tmp_path / "none"))
    assert missing.returncode == 1
    assert missing.stderr.count("\n") == 1


def test_help() -> None:
    helped = run("expand", "--help")
    assert helped.returncode == 0
    assert "NAME=ADDRESS" in helped.stdout


def test_a_reader_that_leaves_early(tmp_path: Path) -> None:
    many = Program("many", GemminiConfig(), (), (Loop(0, const(100_000), PROGRAM_BODY),))
    many.save(tmp_path / "many.npu")
    process = subprocess.Popen(
        [sys.executable, "-m", "npu_target", "program", "expand", str(tmp_path / "many.npu")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == b'[7, "0x0", "0x0"]\n'
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


PROGRAM_BODY = (Command(7, Operand(), Operand()),)
