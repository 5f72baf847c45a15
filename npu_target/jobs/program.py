"""Showing a program, printing it as C, expanding it into its stream."""

from __future__ import annotations

import argparse
import json

from ..program import Program
from ..program.c import header_text, kernel_source
from .errors import UsageError


def run(options: argparse.Namespace) -> int:
    if options.action == "c" and options.header is (options.file is not None):
        raise UsageError("needs either a program file or --header")
    if options.action == "c" and options.header:
        print(header_text(), end="")
        return 0
    addresses: dict[str, int] = {}
    for name, address in getattr(options, "address", ()):
        if name in addresses:
            raise UsageError(f"--address: {name} has an address already")
        addresses[name] = address
    program = Program.load(options.file)
    if options.action == "c":
        print(kernel_source(program), end="")
    elif options.action == "show":
        print(program)
    else:
        for funct, rs1, rs2 in program.expand(addresses, options.limit):
            print(json.dumps([funct, hex(rs1), hex(rs2)]))
    return 0
