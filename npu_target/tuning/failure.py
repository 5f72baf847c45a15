"""What can go wrong with a candidate, as kinds that logs and programs can tell apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..device.error_text import device_error_in

# Found while compiling.
DOES_NOT_APPLY = "does_not_apply"
DOES_NOT_FIT = "does_not_fit"
BUILD_ERROR = "build_error"
# Found while running. The device's own kinds (address_out_of_range, ...) come on top, and those of
# commands that measure (npu_target.external.errors).
RACE = "race"  # one of the device's own
WRONG_RESULT = "wrong_result"
TIMED_OUT = "timed_out"
DEVICE_LOST = "device_lost"
RUN_ERROR = "run_error"

_TEXT = re.compile(r"\[(\w+)\] (.*)", re.DOTALL)
_MOST_CHARACTERS = 500


@dataclass(frozen=True)
class Failure:
    """Why a candidate has no time. `str()` is the form MetaSchedule's results carry."""

    kind: str
    message: str

    def __str__(self) -> str:
        return f"[{self.kind}] {self.message}"

    @classmethod
    def parse(cls, text: str) -> Failure:
        """The way back from `str()`; texts of another origin become a run_error."""
        match = _TEXT.match(text)
        return cls(match[1], match[2]) if match else cls(RUN_ERROR, text)

    @classmethod
    def of_device_error(cls, error: Exception) -> Failure:
        """The failure that an exception of the device, or of the way to it, stands for."""
        found = device_error_in(str(error))
        if found is not None:
            return cls(found.kind, found.message[:_MOST_CHARACTERS])
        return cls(RUN_ERROR, last_line(error))


def last_line(error: BaseException) -> str:
    """The line of an exception's text that says most; TVM's texts begin with a stack trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:_MOST_CHARACTERS]
