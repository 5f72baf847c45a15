"""`npu-target run`."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add_input_option, add_output_option
from .parsers import at_least, does

SUMMARY = "run what build wrote, on the simulated device"
DESCRIPTION = (
    "Run a network that `npu-target build` compiled, on the simulated device and this host, and "
    "print its best classes, or what its outputs are like."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="what npu-target build -o wrote")
    add_input_option(parser)
    parser.add_argument(
        "--model",
        metavar="NAME|FILE",
        help="refuse a file that was built from another network (default: take what it was built "
        "from)",
    )
    parser.add_argument(
        "--class-names", type=Path, metavar="FILE", help="the classes' names, one a line"
    )
    parser.add_argument(
        "--top",
        type=at_least(1),
        default=5,
        metavar="N",
        help="how many classes to print (default: %(default)s)",
    )
    add_output_option(
        parser, "write the outputs: the only one as a .npy file, several as an .npz archive"
    )
    does(parser, "run")
