"""`npu-target build`."""

from __future__ import annotations

import argparse

from .columns import columns
from .options import (
    add_network_options,
    add_output_option,
    add_output_options,
    add_print_options,
    add_production_options,
)
from .parsers import does

SUMMARY = "compile a network into one file, with tuned schedules"
DESCRIPTION = (
    "Compile a network into a shared library that runs on the device and its host, with the "
    "schedules that tuning found. Tunes nothing itself: layers that the logs do not know get their "
    "default schedule, and the table says which. The file needs TVM and this package: npu-target "
    "run FILE --input IMAGE."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = columns()
    add_output_option(parser, "the file to write", required=True)
    add_network_options(parser)
    add_production_options(parser)
    add_output_options(parser)
    add_print_options(parser)
    does(parser, "build")
