"""The limits of a device's numbers, in a file that a device library in C++ can compile in."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..errors import UserError

# By the name of a statement, how many arguments it has.
_ARGUMENTS = {"FIELD": 3, "POWER_OF_TWO": 1, "MULTIPLE": 2, "AT_LEAST": 2, "AT_MOST": 3}
_STATEMENT = re.compile(r"""(\w+)\(((?:[^()"]|"[^"]*")*)\)\s*(?://.*)?""")
_COMMA = re.compile(r""",(?=(?:[^"]*"[^"]*")*[^"]*$)""")  # none in a reason
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)")  # what C takes for the same as Python
_INCLUDE = re.compile(r"#\s*include\b\s*(.*)")
# The limits that all kinds of device have: the only file that one of limits may include.
_HOST_LIMITS = '"sim/host_limits.def"'
_HOST_FILE = Path(__file__).parents[1] / "device_api" / "sim" / "host_limits.def"


class ConfigError(UserError, ValueError):
    """A device description that no device can have, or a file that is not one."""


class _Statement(NamedTuple):
    """Where it is, `file:line`, and what it says."""

    place: str
    kind: str
    arguments: list[str]


class Limits:
    """What a file says of a device's numbers.

    The file is C: a statement a line, FIELD(name, least, most) for every field, then
    POWER_OF_TWO(value), MULTIPLE(value, of), AT_LEAST(value, least), AT_MOST(value, most, reason)
    where values are sums of products of fields and numbers. `#include "sim/host_limits.def"` stands
    for the limits of the fields that every DeviceConfig has. Beside statements it has comments
    (`//`) and lines of C's preprocessor, which only C++ reads.

    Raises OSError when it cannot be read, ConfigError, with file and line, for anything else in it.
    """

    def __init__(self, path: Path) -> None:
        self._statements = list(_statements(path))
        # By the field's name: the least value and the most.
        self.fields: dict[str, tuple[int, int]] = {}
        # And where that is said.
        self._places: dict[str, str] = {}
        for place, kind, arguments in self._statements:
            if kind == "FIELD":
                name, least, most = arguments
                if name in self.fields:
                    raise ConfigError(f"{place}: {name} has its limits at {self._places[name]}")
                self.fields[name] = _number(place, "least", least), _number(place, "most", most)
                self._places[name] = place
        for place, kind, arguments in self._statements:
            if kind != "FIELD":
                for value in arguments[:2]:
                    self._check_value(place, value)

    def _check_value(self, place: str, value: str) -> None:
        for name in re.split(r"[+*]", value):
            if not (name.strip() in self.fields or _NUMBER.fullmatch(name.strip())):
                raise ConfigError(
                    f"{place}: {name.strip()!r} in {value!r} is neither a number nor a field; "
                    f"fields need a FIELD of their own{_near(name.strip(), self.fields)}"
                )

    def violation(self, numbers: Mapping[str, int]) -> str | None:
        """What the first limit is that a device of these numbers violates; None for none.

        `numbers` are all fields. The device library says the same. Raises ConfigError, with file
        and line, for limits of a field that is not among them.
        """
        for name, (least, most) in self.fields.items():
            if name not in numbers:
                place = self._places[name]
                raise ConfigError(f"{place}: a device has no field {name!r}{_near(name, numbers)}")
            if not least <= numbers[name] <= most:
                return f"{name} is {numbers[name]}, must be between {least} and {most}"
        for _, kind, (text, *arguments) in self._statements:
            if kind == "FIELD":
                continue
            value = _value(text, numbers)
            needs = _needs(kind, value, arguments, numbers)
            if needs:
                return f"{text} is {value}, must be {needs}"
        return None


def _statements(path: Path) -> Iterator[_Statement]:
    """Those of a file, and of the one that it includes."""
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line, place = text.strip(), f"{path}:{number}"
        included = _INCLUDE.fullmatch(line)
        if included:
            if included[1] != _HOST_LIMITS:
                raise ConfigError(f"{place}: includes {included[1]}, may include {_HOST_LIMITS}")
            yield from _statements(_HOST_FILE)
        elif line and not line.startswith(("//", "#")):
            yield _statement(place, line)


def _statement(place: str, line: str) -> _Statement:
    found = _STATEMENT.fullmatch(line)
    if found is None or found[1] not in _ARGUMENTS:
        raise ConfigError(
            f"{place}: {line!r} is no statement; needs one of {', '.join(_ARGUMENTS)} with "
            "arguments in parentheses, a comment behind // or a line of the preprocessor"
        )
    kind, arguments = found[1], [argument.strip() for argument in _COMMA.split(found[2])]
    if len(arguments) != _ARGUMENTS[kind] or not all(arguments):
        raise ConfigError(
            f"{place}: {line!r} has {len(list(filter(None, arguments)))} arguments, "
            f"{kind} takes {_ARGUMENTS[kind]}"
        )
    return _Statement(place, kind, arguments)


def _number(place: str, what: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ConfigError(f"{place}: the {what} value is {text!r}, must be a decimal number")
    return int(text)


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=3)
    return f"; near: {', '.join(near)}" if near else ""


def _needs(kind: str, value: int, arguments: list[str], numbers: Mapping[str, int]) -> str:
    if kind == "POWER_OF_TWO":
        return "a power of two" if value & (value - 1) else ""
    text, *reason = arguments
    limit = _value(text, numbers)
    shown = text if text.isdigit() else f"{text} ({limit})"
    if kind == "MULTIPLE":
        return f"a multiple of {shown}" if value % limit else ""
    if kind == "AT_LEAST":
        return f"at least {shown}" if value < limit else ""
    (why,) = reason
    return ", ".join(["at most " + shown, why.strip('"')]) if value > limit else ""


def _value(text: str, numbers: Mapping[str, int]) -> int:
    """A sum of products of fields and numbers."""
    products = [term.split("*") for term in text.split("+")]
    return sum(math.prod(_factor(name.strip(), numbers) for name in names) for names in products)


def _factor(name: str, numbers: Mapping[str, int]) -> int:
    return int(name) if _NUMBER.fullmatch(name) else numbers[name]
