"""`npu-target compile`."""

from __future__ import annotations

import argparse
import ast
from typing import Any

from .options import (
    add_device_option,
    add_output_option,
    add_pipeline_option,
    add_print_options,
)
from .parsers import does

SUMMARY = "compile one operator, and show what each stage makes"
DESCRIPTION = (
    "Compile one operator for a device and print its program, or what each stage of the compiler "
    "makes of it: npu-target compile matmul batch=1 m=40 k=48 n=20 --pipeline O0 --print-ir-after "
    "placed. A network's layer goes through the same: tune and build take the same options."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operator", metavar="OPERATOR", help="its name, such as matmul")
    parser.add_argument(
        "attributes",
        nargs="*",
        type=_attribute,
        metavar="NAME=VALUE",
        help="of the operator, such as m=64 bias=False 'pad=(1, 1, 1, 1)'",
    )
    add_device_option(parser)
    add_output_option(parser, "write the program there")
    add_pipeline_option(parser)
    add_print_options(parser)
    does(parser, "compile")


def _attribute(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no attribute: needs NAME=VALUE, such as m=64"
        )
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError) as error:
        raise argparse.ArgumentTypeError(
            f"{name} must be a number, True, False, None or a tuple of them, got {value!r}"
        ) from error
