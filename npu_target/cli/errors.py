"""How errors reach the user: one line, and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable

from ..errors import UserError
from ..jobs.errors import Stopped, UsageError
from ..output import drop_output, end_output
from .leaving import INTERRUPTED

FAILED = 1
WRONG_OPTIONS = 2


def report_errors(prog: str, work: Callable[[], int]) -> int:
    """`work()`, but a user's error becomes one line on stderr, beginning with `prog`, and an exit
    code; so does Ctrl-C."""
    try:
        code = work()
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _say(prog, f"error: {error}; see: {prog} --help", WRONG_OPTIONS)
    except Stopped as stopped:
        return _say(prog, f"stopped; {stopped}", INTERRUPTED)
    except KeyboardInterrupt:
        return _say(prog, "stopped", INTERRUPTED)
    except BrokenPipeError:
        # The reader (`| head`) has seen enough.
        drop_output()
        return 0
    except UserError as error:
        return _say(prog, f"error: {error}", FAILED)
    except OSError as error:
        end_output()
        where = f"{error.filename}: " if error.filename else ""
        return _say(prog, f"error: {where}{error.strerror or error}", FAILED)


def _say(prog: str, message: str, code: int) -> int:
    print(f"{prog}: {' '.join(message.split())}", file=sys.stderr)
    return code
