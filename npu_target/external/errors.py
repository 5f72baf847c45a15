"""What can go wrong on the way through a command of the user's."""

from __future__ import annotations

from ..errors import UserError


class ExternalError(UserError, RuntimeError):
    """`kind` is what logs tell failures apart by."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class CommandError(ExternalError):
    """A command that cannot be started as it is written."""

    def __init__(self, message: str) -> None:
        super().__init__("bad_command", message)


class ElfError(ExternalError):
    """A program that cannot be made into an ELF: no compiler, or one that refuses."""

    def __init__(self, message: str) -> None:
        super().__init__("build_error", message)


class RunError(ExternalError):
    """A command that was started and gave no measurement."""


class RunTimedOut(RunError):
    """It took too long, and was killed with all that it had started."""

    def __init__(self, message: str) -> None:
        super().__init__("timed_out", message)


class RunFailed(RunError):
    """It ended with an exit code. The kind is that of the device's error where it named one."""

    def __init__(self, message: str, kind: str = "run_error") -> None:
        super().__init__(kind, message)


class BadAnswer(RunError):
    """It ended well, but its answer cannot be read: no cycles, no number, other bytes."""

    def __init__(self, message: str) -> None:
        super().__init__("bad_answer", message)
