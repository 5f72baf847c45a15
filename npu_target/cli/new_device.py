"""`npu-target new-device`."""

from __future__ import annotations

import argparse
from pathlib import Path

from .parsers import does

SUMMARY = "write the package of a device of your own"
DESCRIPTION = (
    "Write a package for a new kind of device: one that works, for you to edit. Nothing is left "
    "where it cannot be written."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the device and of its package: my_npu")
    parser.add_argument("folder", metavar="DIR", type=Path, help="to be made for the package")
    does(parser, "new_device")
