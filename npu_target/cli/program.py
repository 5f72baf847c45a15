"""`npu-target program`."""

from __future__ import annotations

import argparse
from pathlib import Path

from .parsers import at_least, does

SUMMARY = "show a saved program, print it as C, or expand it"
DESCRIPTION = "Show a program that --dump left, print it as C, or expand it into its stream."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", required=True, metavar="show|c|expand")
    show = commands.add_parser("show", help="print the disassembly, with its loops")
    show.add_argument("file", type=Path, metavar="FILE")
    does(show, "program")
    c = commands.add_parser("c", help="print it as C for the device's host, or npu.h for that")
    c.add_argument("file", nargs="?", type=Path, metavar="FILE")
    c.add_argument("--header", action="store_true", help="print npu.h, which the C code includes")
    does(c, "program")
    expand = commands.add_parser(
        "expand", help="print the stream, one JSON [funct, rs1, rs2] a line, rs1 and rs2 in hex"
    )
    expand.add_argument("file", type=Path, metavar="FILE")
    expand.add_argument(
        "--address",
        nargs="+",
        action="extend",
        default=[],
        type=_address,
        metavar="NAME=ADDRESS",
        help="where an argument is, for every argument",
    )
    expand.add_argument(
        "--limit", type=at_least(0), metavar="N", help="print the first N commands only"
    )
    does(expand, "program")


def _address(item: str) -> tuple[str, int]:
    name, separator, text = item.partition("=")
    try:
        address = int(text, 0)
    except ValueError:
        address = -1
    if not name or not separator or address < 0:
        raise argparse.ArgumentTypeError(f"{item}: needs NAME=ADDRESS, such as x=0x80010000")
    return name, address
