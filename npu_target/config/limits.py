"""The limits of a device's numbers, which the device library has compiled in: both read
`limits.def`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_STATEMENT = re.compile(r"^(FIELD|POWER_OF_TWO|MULTIPLE|AT_LEAST|AT_MOST)\((.*)\)$", re.MULTILINE)


class ConfigError(ValueError):
    """A device description that no device can have, or a file that is not one."""


class _Statement(NamedTuple):
    kind: str
    arguments: list[str]


def _statements() -> Iterator[_Statement]:
    text = Path(__file__).with_name("limits.def").read_text(encoding="utf-8")
    for match in _STATEMENT.finditer(text):
        yield _Statement(match[1], [argument.strip() for argument in match[2].split(",")])


_STATEMENTS = list(_statements())
# By the field's name, in the order of the program files: the least value and the most.
FIELDS = {
    arguments[0]: (int(arguments[1]), int(arguments[2]))
    for kind, arguments in _STATEMENTS
    if kind == "FIELD"
}


def violation(numbers: Mapping[str, int]) -> str | None:
    """What the first limit is that a device of these numbers, all fields, violates; None for none.

    The device library says the same.
    """
    for name, (least, most) in FIELDS.items():
        if not least <= numbers[name] <= most:
            return f"{name} is {numbers[name]}, must be between {least} and {most}"
    for kind, (text, *arguments) in _STATEMENTS:
        if kind == "FIELD":
            continue
        value = _value(text, numbers)
        needs = _needs(kind, value, arguments, numbers)
        if needs:
            return f"{text} is {value}, must be {needs}"
    return None


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
    return int(name) if name.isdigit() else numbers[name]
