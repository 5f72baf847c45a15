"""`python -m npu_target.program`: show a program, print it as C, or expand it into its stream."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from .c import header_text, kernel_source
from .expr import ProgramError
from .program import Program


class _UsageError(Exception):
    """A command line that cannot be obeyed; the text is the one line to say."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise _UsageError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m npu_target.program", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="show|c|expand")
    show = commands.add_parser("show", help="print the disassembly, with its loops")
    show.add_argument("file")
    c = commands.add_parser("c", help="print it as C for the device's host, or npu.h for that")
    c.add_argument("file", nargs="?")
    c.add_argument("--header", action="store_true", help="print npu.h, which the C code includes")
    expand = commands.add_parser(
        "expand", help="print the stream, one JSON [funct, rs1, rs2] a line, rs1 and rs2 in hex"
    )
    expand.add_argument("file")
    expand.add_argument(
        "--address",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=ADDRESS",
        help="where an argument is, for every argument",
    )
    expand.add_argument("--limit", type=int, metavar="N", help="print the first N commands only")
    return parser


def _addresses(items: Sequence[str]) -> dict[str, int]:
    addresses: dict[str, int] = {}
    for item in items:
        name, separator, text = item.partition("=")
        try:
            address = int(text, 0)
        except ValueError:
            address = -1
        if not name or not separator or address < 0:
            raise _UsageError(f"--address {item}: needs NAME=ADDRESS, such as x=0x80010000")
        if name in addresses:
            raise _UsageError(f"--address {item}: {name} has an address already")
        addresses[name] = address
    return addresses


def _run(argv: Sequence[str] | None) -> None:
    options = _parser().parse_args(argv)
    if options.command == "c" and options.header is (options.file is not None):
        raise _UsageError("c: needs either a program file or --header")
    if options.command == "c" and options.header:
        print(header_text(), end="")
        return
    program = Program.load(options.file)
    if options.command == "c":
        print(kernel_source(program), end="")
        return
    if options.command == "show":
        print(program)
        return
    if options.limit is not None and options.limit < 0:
        raise _UsageError(f"--limit {options.limit}: needs 0 or more")
    for funct, rs1, rs2 in program.expand(_addresses(options.address), options.limit):
        print(json.dumps([funct, hex(rs1), hex(rs2)]))


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 2 after one line on stderr."""
    try:
        _run(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; keep the interpreter from flushing again.
        sys.stdout = None
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (ProgramError, _UsageError) as error:
        return _fail(str(error))
    return 0


def _fail(message: str) -> int:
    print(f"npu_target.program: {' '.join(message.split())}", file=sys.stderr)
    return 2
