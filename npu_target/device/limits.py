"""The limits of a device's numbers, in a file that a device library in C++ can compile in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..errors import UserError

_STATEMENT = re.compile(r"^(FIELD|POWER_OF_TWO|MULTIPLE|AT_LEAST|AT_MOST)\((.*)\)$", re.MULTILINE)
# The limits that all kinds of device have: the only file that one of limits may include.
_HOST_LIMITS = '#include "sim/host_limits.def"\n'
_HOST_FILE = Path(__file__).parents[1] / "device_api" / "sim" / "host_limits.def"


class ConfigError(UserError, ValueError):
    """A device description that no device can have, or a file that is not one."""


class _Statement(NamedTuple):
    kind: str
    arguments: list[str]


class Limits:
    """What a file says of a device's numbers.

    The file is C: a statement a line, FIELD(name, least, most) for every field, then
    POWER_OF_TWO(value), MULTIPLE(value, of), AT_LEAST(value, least), AT_MOST(value, most, reason)
    where values are sums of products of fields and numbers. `#include "sim/host_limits.def"` stands
    for the limits of the fields that every DeviceConfig has. Raises OSError when it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        text = text.replace(_HOST_LIMITS, _HOST_FILE.read_text(encoding="utf-8"))
        self._statements = [
            _Statement(match[1], [argument.strip() for argument in match[2].split(",")])
            for match in _STATEMENT.finditer(text)
        ]
        # By the field's name: the least value and the most.
        self.fields = {
            arguments[0]: (int(arguments[1]), int(arguments[2]))
            for kind, arguments in self._statements
            if kind == "FIELD"
        }

    def violation(self, numbers: Mapping[str, int]) -> str | None:
        """What the first limit is that a device of these numbers violates; None for none.

        `numbers` are all fields. The device library says the same.
        """
        for name, (least, most) in self.fields.items():
            if not least <= numbers[name] <= most:
                return f"{name} is {numbers[name]}, must be between {least} and {most}"
        for kind, (text, *arguments) in self._statements:
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
