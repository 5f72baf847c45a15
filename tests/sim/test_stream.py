"""Reading raw command streams."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sim.streams import SETUP, loads_then_products, trace, words, write_lines

from npu_target.devices.gemmini import GemminiConfig
from npu_target.sim.errors import SimError
from npu_target.sim.stream import Issue, read_stream

COMMANDS = loads_then_products(1)


def read(path: Path, name: str | None = None):
    return read_stream(path, name, GemminiConfig(host_cycles_per_command=7))


def issues(commands, cycles):
    return tuple(Issue(cycles, *command.encode()) for command in commands)


def test_a_measured_stream(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [trace("only", COMMANDS, instructions=4)])
    stream = read(path)
    assert stream.name == "only"
    assert stream.setup == issues(SETUP, 1)
    # So few instructions cost a cycle each.
    assert stream.issues == issues(COMMANDS, 4)


def test_many_instructions_cost_more_than_a_cycle_each(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [trace("only", COMMANDS, instructions=100)])
    assert {issue.host_cycles for issue in read(path).issues} == {138}


def test_one_of_several_is_chosen_by_name(tmp_path: Path) -> None:
    records = [trace(name, COMMANDS[:count]) for count, name in enumerate(["a", "b x", "c"], 1)]
    path = write_lines(tmp_path / "t.jsonl", records)
    assert len(read(path, "b x").issues) == 2
    with pytest.raises(SimError, match=r"has 3 streams, choose one by --name: 'a', 'b x', 'c'"):
        read(path)
    with pytest.raises(SimError, match=r"no stream is called 'b'; there are 'b x' and others$"):
        read(path, "b")
    write_lines(path, records[:2])
    with pytest.raises(SimError, match=r"no stream is called 'z'; there are 'a', 'b x'$"):
        read(path, "z")


@pytest.mark.parametrize("is_one_document", [False, True])
def test_an_expanded_program(tmp_path: Path, is_one_document: bool) -> None:
    path = tmp_path / "kernel.jsonl"
    if is_one_document:
        path.write_text(json.dumps(words(COMMANDS), indent=1))
    else:
        write_lines(path, words(COMMANDS))
    stream = read(path)
    assert (stream.name, stream.setup, stream.issues) == ("kernel", (), issues(COMMANDS, 7))
    with pytest.raises(SimError, match="without a name"):
        read(path, "kernel")


def test_words_may_be_numbers(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [list(COMMANDS[0].encode())])
    assert read(path).issues == issues(COMMANDS[:1], 7)


GOOD = words(COMMANDS)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("hello", "t.jsonl:1: neither a program"),
        ("[" * 100_000, "neither a program"),
        ("[2, " + "9" * 5_000 + ", 2]", "neither a program"),
        ('{"name": "a"}', "needs a stream"),
        ('{"commands": 3}', "needs a stream"),
        ("3", "needs a stream"),
        ("[1, 2]", r"needs \[funct, rs1, rs2\], has \[1, 2\]"),
        ("[99, 1, 2]", "funct is 99, the device has no such command"),
        ("[200, 1, 2]", "funct is 200, needs an integer from 0 to 0x7f"),
        ("[2, -1, 2]", "rs1 is -1, needs"),
        ('[2, 1, "0x1ffffffffffffffff"]', "rs2 is .*, needs"),
        ('[2, "two", 2]', 'rs1 is "two", needs'),
        ("[2, true, 2]", "rs1 is true, needs"),
        ("[2, 1.5, 2]", "rs1 is 1.5, needs"),
        (json.dumps({"commands": [GOOD]}), r"command 0: needs \[host instructions"),
        (json.dumps({"commands": [[5, *GOOD], [4, *GOOD]]}), "command 1: .* go back from 5 to 4"),
        (json.dumps({"setup": 1, "commands": []}), "setup needs a list"),
        (json.dumps({"setup": [[1]], "commands": []}), "setup 0: needs"),
        (json.dumps({"commands": []}) + "\n[1, 2, 3]", "t.jsonl:2: needs a stream"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(SimError, match=message):
        read(path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SimError, match="not UTF-8 at byte 0"):
        read(path)
