"""How errors reach the user: one line, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

from ..jobs.errors import Stopped, UsageError
from .leaving import INTERRUPTED

FAILED = 1
WRONG_OPTIONS = 2
# Exceptions whose text is for the user, by the modules that define them. They are looked up when
# there is an error: what raises one has been imported by then.
_FOR_THE_USER = {
    "npu_target.built_file": ("BuiltFileError",),
    "npu_target.calibrate.errors": ("CalibrationError",),
    "npu_target.codegen_tir": ("CodegenError", "DoesNotFit"),
    "npu_target.device": ("ConfigError",),
    "npu_target.export.errors": ("ExportError",),
    "npu_target.external": ("ExternalError",),
    "npu_target.files": ("WriteError",),
    "npu_target.frontend": ("FrontendError",),
    "npu_target.inputs": ("InputsError",),
    "npu_target.models": ("ModelError",),
    "npu_target.new_device.package": ("NewDeviceError",),
    "npu_target.numerics": ("NumericsError",),
    "npu_target.program": ("ProgramError",),
    "npu_target.quantize": ("QuantizeError",),
    "npu_target.relax_graph": ("GraphError",),
    "npu_target.sim.errors": ("SimError",),
    "npu_target.stages": ("StageError",),
    "npu_target.topi": ("OperatorError",),
    "npu_target.tuning.errors": ("TuningError",),
    "rpc_server.address": ("AddressError",),
    "rpc_server.process": ("ProcessError",),
    "rpc_server.tracker_client": ("TrackerError",),
}


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
        # The reader (`| head`) has seen enough; keep the interpreter from flushing again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ImportError as error:
        return _say(prog, f"error: {error}", FAILED)
    except Exception as error:
        if isinstance(error, tuple(_classes())):
            return _say(prog, f"error: {error}", FAILED)
        if isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            return _say(prog, f"error: {where}{error.strerror or error}", FAILED)
        raise


def _classes() -> Iterator[type[Exception]]:
    for module, names in _FOR_THE_USER.items():
        if module in sys.modules:
            yield from (getattr(sys.modules[module], name) for name in names)


def _say(prog: str, message: str, code: int) -> int:
    print(f"{prog}: {' '.join(message.split())}", file=sys.stderr)
    return code
