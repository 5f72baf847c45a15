"""Errors of devices in texts: whatever comes between, they look the same."""

from __future__ import annotations

import re
from typing import NamedTuple

_ERROR = re.compile(r"NpuDeviceError \[(\w+)\][^\S\n]*(.*)")


class DeviceErrorText(NamedTuple):
    """What a device refused to do: one of the kinds of `npu_target.device_api`, and a line."""

    kind: str
    message: str


def device_error_in(text: str) -> DeviceErrorText | None:
    """The first in a text, such as that of an exception; None where a device says nothing."""
    found = _ERROR.search(text)
    return found and DeviceErrorText(found[1], found[2])
