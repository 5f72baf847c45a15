"""`npu-target sim`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..device import DEFAULT_DEVICE
from ..external.options import add_external_options, add_runner_name
from .options import add_device_option, add_timeout_option
from .parsers import at_least, does

_TIMEOUT_SECONDS = 600.0

SUMMARY = "run one saved program: its cycles, and where they go"
DESCRIPTION = (
    "`run FILE` prints how many cycles a program takes, how busy the array is, the bytes that move "
    "and where the cycles went. `compare A B` explains the difference of two runs."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", required=True, metavar="run|compare")
    run = commands.add_parser("run", help="run a program, or a raw command stream, for its cycles")
    run.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="a saved program, or a raw command stream in JSON lines",
    )
    run.add_argument(
        "--timeline",
        type=Path,
        metavar="FILE",
        help="write a trace for ui.perfetto.dev or chrome://tracing",
    )
    run.add_argument(
        "--timeline-cycles",
        metavar="FROM:TO",
        help="of these cycles only, counted from the start of the first run",
    )
    _add_options(run, "which stream of a file of several")
    compare = commands.add_parser(
        "compare", help="explain how two runs differ: files as for run, or what its --json wrote"
    )
    for letter, which in (("a", "one of them"), ("b", "the other one")):
        compare.add_argument(letter, type=Path, metavar=letter.upper(), help=which)
    compare.set_defaults(timeline=None)
    _add_options(compare, "which stream of a file of several; twice for A and for B")


def _add_options(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("--name", action="append", default=[], help=name)
    parser.add_argument(
        "--memory",
        choices=("ideal_memory", "ddr3"),
        default="ddr3",
        help="behind the L2: the device's own, or one that answers in a cycle (default: "
        "%(default)s)",
    )
    add_device_option(parser, None, f"the program's own; for raw streams {DEFAULT_DEVICE}")
    parser.add_argument(
        "--repeat",
        type=at_least(1),
        default=1,
        metavar="N",
        help="run N times, the first with cold caches, the others with warm ones (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--races",
        action="store_true",
        help="refuse a stream whose result depends on an order that the hardware does not keep",
    )
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="write the result for machines, to standard output instead of the tables or to FILE",
    )
    external = parser.add_argument_group("on something else than the simulated device")
    add_external_options(external)
    add_runner_name(external)
    add_timeout_option(external, "for one run by the command", "%(default)g", _TIMEOUT_SECONDS)
    for role, what in (("input", "read from"), ("output", "written to")):
        parser.add_argument(
            f"--{role}",
            action="append",
            default=[],
            metavar="NAME=FILE.npy",
            help=f"an {role} of a program, {what} a file of NumPy",
        )
    does(parser, "sim")
