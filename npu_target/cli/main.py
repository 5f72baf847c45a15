"""`npu-target COMMAND`: the commands, and from the command line to the job that does one."""

from __future__ import annotations

import argparse
import importlib
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import argcomplete

from ..jobs.errors import Stopped
from . import (
    accuracy,
    build,
    calibrate,
    compile,
    completion,
    export,
    logs,
    new_device,
    program,
    run,
    serve,
    sim,
    sweep,
    tune,
)
from .errors import report_errors
from .leaving import leave
from .parsers import Parser, wrong_options
from .version import ShowVersion

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# In the order in which one needs them.
_COMMANDS = {
    "tune": tune,
    "build": build,
    "run": run,
    "accuracy": accuracy,
    "export": export,
    "logs": logs,
    "serve": serve,
    "sim": sim,
    "program": program,
    "sweep": sweep,
    "compile": compile,
    "calibrate": calibrate,
    "new-device": new_device,
    "completion": completion,
}
_EXIT_CODES = """\
exit codes:
  0    done
  1    it cannot be done, and one line says why
  2    wrong options
  130  stopped by Ctrl-C, which servers end by with 0"""


def make_parser() -> argparse.ArgumentParser:
    """That of all commands. What it parses has `job`, the module of `npu_target.jobs` that does it,
    and `prog`, what messages begin with."""
    parser = Parser(
        prog="npu-target",
        usage="%(prog)s COMMAND ...   (%(prog)s COMMAND --help explains one)",
        description="Networks on neural processing units, compiled by the stock Apache TVM."
        + _listed(),
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action=ShowVersion, help="print versions and known devices")
    commands = parser.add_subparsers(prog="npu-target", dest="command", help=argparse.SUPPRESS)
    for name, module in _COMMANDS.items():
        module.add_arguments(
            commands.add_parser(name, help=argparse.SUPPRESS, description=module.DESCRIPTION)
        )
    return parser


def _listed() -> str:
    """The commands with a line each; argparse would break some in two."""
    lines = [f"  {name:<12}{module.SUMMARY}" for name, module in _COMMANDS.items()]
    return "\n".join(["\n\ncommands:", *lines])


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command, of `make_parser` and `command_line`.

    Raises SystemExit, as argparse does, after --help (0) and for wrong options (2).
    """
    parser = make_parser()
    argcomplete.autocomplete(parser)  # does nothing unless a shell asks
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        prog = getattr(options, "prog", parser.prog)
        parser.exit(2, wrong_options(prog, f"unrecognized arguments: {' '.join(unknown)}"))
    if options.command is None:
        parser.print_help()
        parser.exit()
    # As it is kept in logs and said in messages.
    options.command_line = shlex.join([parser.prog, *arguments])
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what `arguments` say, by default those of the process; returns the exit code.

    Raises SystemExit as `parse` does.
    """
    options = parse(list(sys.argv[1:] if arguments is None else arguments))

    def work() -> int:
        job = importlib.import_module(f"npu_target.jobs.{options.job}")
        with _interruptible():
            return int(job.run(options))

    return report_errors(options.prog, work)


class _Interrupted:
    """Remembers a signal: a KeyboardInterrupt in a callback of a library comes out of it as another
    error."""

    def __init__(self) -> None:
        self.is_set = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.is_set = True
        raise KeyboardInterrupt


@contextmanager
def _interruptible() -> Iterator[None]:
    """From here on Ctrl-C, and SIGTERM, is a KeyboardInterrupt, so that what was begun is ended in
    order."""
    if signal.getsignal(signal.SIGINT) is not leave:  # not the command's own process
        yield
        return
    interrupted = _Interrupted()
    before = {number: signal.signal(number, interrupted) for number in _SIGNALS}
    try:
        yield
    except Stopped:
        raise
    except Exception as error:
        if interrupted.is_set:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
