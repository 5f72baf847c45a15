"""Raw command streams: JSON lines, each a measured stream or one command.

A measured stream is an object with `name`, `setup` (commands [funct, rs1, rs2] in force before the
start) and `commands`, each [host instructions retired since the start, funct, rs1, rs2]. A file may
have many. A command alone is a list [funct, rs1, rs2], as `npu-target program expand`
prints; a file of those is one stream. Words are numbers, or text such as "0x80010000".
"""

from __future__ import annotations

import difflib
import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npu_target.device import DeviceConfig, kind_of
from npu_target.device.command_set import CommandSet
from npu_target.device.commands import WORD_MASK

from .errors import SimError

_PACKED = struct.Struct("<4Q")
_MAX_NAMES_SHOWN = 5
# Up to so many host instructions between two commands advance operands by additions, a cycle each.
# More of them compute loop indices by multiplying and dividing; over hundreds of instructions the
# core's other pauses prevail.
_PLAIN_INSTRUCTIONS = 16


@dataclass(frozen=True)
class Issue:
    """A command, and the cycles the host core spends before it hands it over."""

    host_cycles: int
    funct: int
    rs1: int
    rs2: int


@dataclass(frozen=True)
class CommandStream:
    """`setup` is in force before the start and takes no time."""

    name: str
    setup: tuple[Issue, ...]
    issues: tuple[Issue, ...]


def pack(issues: Iterable[Issue]) -> bytes:
    """As `device_api.profile.profile_stream` takes them."""
    return b"".join(
        _PACKED.pack(issue.host_cycles, issue.funct, issue.rs1, issue.rs2) for issue in issues
    )


def read_stream(path: Path, name: str | None, config: DeviceConfig) -> CommandStream:
    """The stream of a device's commands in a file, the one of this name when it has several.

    The device says what a command costs the host where the file does not. Raises SimError for
    a file that is no such stream or has none of that name, OSError when it cannot be read.
    """
    commands, host_cycles = kind_of(config).commands, config.host_cycles_per_command
    records = _records(path)
    if not records:
        raise SimError(f"{path}: needs a command stream, is empty")
    if all(isinstance(record, list) for _, record in records):
        if name is not None:
            raise SimError(f"{path}: --name {name}: the file is one stream, without a name")
        issues = tuple(
            _triple(record, f"{path}:{line}", host_cycles, commands) for line, record in records
        )
        return CommandStream(path.stem, (), issues)
    for line, record in records:
        if not isinstance(record, dict) or not isinstance(record.get("commands"), list):
            raise SimError(
                f"{path}:{line}: needs a stream (an object with 'name' and 'commands') on every "
                "line, or a command [funct, rs1, rs2] on every line"
            )
    line, record = _choose(path, records, name)
    return _stream(record, f"{path}:{line}", str(record.get("name", path.stem)), commands)


def _records(path: Path) -> list[tuple[int, Any]]:
    """The JSON values of a file, with their lines: one a line, or one over all of them."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SimError(
            f"{path}: neither a program (NPUPROG) nor JSON lines: not UTF-8 at byte {error.start}"
        ) from error
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            records.append((number, json.loads(line)))
        except (ValueError, RecursionError) as error:  # also numbers of too many digits
            whole = _whole(text)
            if whole is None:
                raise SimError(
                    f"{path}:{number}: neither a program (NPUPROG) nor JSON lines: {error}"
                ) from error
            return whole
    if len(records) == 1 and isinstance(records[0][1], list):
        return _whole(text) or records
    return records


def _whole(text: str) -> list[tuple[int, Any]] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_list_of_records = isinstance(value, list) and all(isinstance(v, (list, dict)) for v in value)
    return [(1, v) for v in value] if is_list_of_records else [(1, value)]


def _choose(path: Path, records: Sequence[tuple[int, Any]], name: str | None) -> tuple[int, Any]:
    names = [str(record.get("name", "")) for _, record in records]
    if name is None:
        if len(records) == 1:
            return records[0]
        shown = ", ".join(repr(n) for n in names[:_MAX_NAMES_SHOWN])
        more = ", ..." if len(names) > _MAX_NAMES_SHOWN else ""
        raise SimError(f"{path}: has {len(records)} streams, choose one by --name: {shown}{more}")
    if name in names:
        return records[names.index(name)]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.3) or names[:_MAX_NAMES_SHOWN]
    hint = ", ".join(repr(n) for n in close) + (" and others" if len(close) < len(names) else "")
    raise SimError(f"{path}: no stream is called {name!r}; there are {hint}")


def _stream(record: dict[str, Any], where: str, name: str, commands: CommandSet) -> CommandStream:
    setup = record.get("setup", [])
    if not isinstance(setup, list):
        raise SimError(f"{where}: setup needs a list of [funct, rs1, rs2]")
    issues = []
    retired = 0
    for index, words in enumerate(record["commands"]):
        place = f"{where}: command {index}"
        if not isinstance(words, list) or len(words) != 4:
            raise SimError(
                f"{place}: needs [host instructions, funct, rs1, rs2], has {_short(words)}"
            )
        now = _integer(words[0], place, "host instructions", WORD_MASK >> 1)
        if now < retired:
            raise SimError(
                f"{place}: host instructions go back from {retired} to {now}, need to increase"
            )
        issues.append(_command(words[1:], place, _host_cycles(now - retired), commands))
        retired = now
    ready = tuple(
        _triple(words, f"{where}: setup {index}", 1, commands) for index, words in enumerate(setup)
    )
    return CommandStream(name, ready, tuple(issues))


def _host_cycles(instructions: int) -> int:
    """What the host core needs for so many instructions between two commands."""
    pauses = min(instructions - _PLAIN_INSTRUCTIONS, 8 + 3 * instructions // 10)
    return min(instructions + max(0, pauses), 2**32 - 1)


def _triple(words: Any, place: str, host_cycles: int, commands: CommandSet) -> Issue:
    if not isinstance(words, list) or len(words) != 3:
        raise SimError(f"{place}: needs [funct, rs1, rs2], has {_short(words)}")
    return _command(words, place, host_cycles, commands)


def _command(words: Sequence[Any], place: str, host_cycles: int, commands: CommandSet) -> Issue:
    funct = _integer(words[0], place, "funct", 127)
    rs1 = _integer(words[1], place, "rs1", WORD_MASK)
    rs2 = _integer(words[2], place, "rs2", WORD_MASK)
    if commands.find(funct, rs1) is None:
        raise SimError(f"{place}: funct is {funct}, the device has no such command")
    return Issue(host_cycles, funct, rs1, rs2)


def _integer(word: Any, place: str, what: str, most: int) -> int:
    value = word
    if isinstance(word, str):
        try:
            value = int(word, 0)
        except ValueError:
            value = None
    if type(value) is not int or not 0 <= value <= most:
        raise SimError(f"{place}: {what} is {_short(word)}, needs an integer from 0 to {most:#x}")
    return value


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
