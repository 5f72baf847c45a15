"""`npu-target compile`."""

from __future__ import annotations

import argparse

from .options import (
    add_device_option,
    add_operator_argument,
    add_output_option,
    add_pipeline_option,
    add_print_options,
)
from .parsers import does

SUMMARY = "compile one operator, and show what each stage makes"
DESCRIPTION = (
    "Compile one operator for a device and print its program, or what each stage of the compiler "
    "makes of it: npu-target compile 'matmul(m=40, k=48, n=20)' --pipeline O0 --print-ir-after "
    "placed. A network's layer goes through the same: tune and build take the same options."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_operator_argument(parser)
    add_device_option(parser)
    add_output_option(parser, "write the program there")
    add_pipeline_option(parser)
    add_print_options(parser)
    does(parser, "compile")
