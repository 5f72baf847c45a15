"""`npu-target export`."""

from __future__ import annotations

import argparse

from .columns import columns
from .options import (
    add_explain_option,
    add_json_option,
    add_network_options,
    add_output_option,
    add_production_options,
)
from .parsers import at_least, does

SUMMARY = "write a network as C for the device's own host"
DESCRIPTION = (
    "Write a folder of C that runs a network on the device and its own host, with the schedules "
    "that tuning found. Tunes nothing itself. The folder needs neither TVM nor Python: make -C DIR "
    "check, where the device has a simulator in C++."
)
# What an export is for, and what make calls it.
_GOALS = {"native": "native", "linux": "linux", "baremetal": "elf", "driver": "driver"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = columns()
    add_output_option(parser, "the folder to write", "DIR", required=True)
    add_network_options(parser)
    add_production_options(parser)
    add_explain_option(parser)
    parser.add_argument(
        "--for",
        dest="goal",
        type=_goal,
        default="native",
        metavar="|".join(_GOALS),
        help="what a bare `make` builds: a program for this machine with the device simulated, or "
        "for the device's core, under Linux or without an operating system; or, for any host, a "
        "library that hands each command to a driver of yours (default: %(default)s)",
    )
    parser.add_argument(
        "--input-type",
        choices=("float", "integer"),
        default="float",
        help="what the caller gives: floats, which the host quantizes first, or the integers that "
        "it makes of them (default: %(default)s)",
    )
    parser.add_argument(
        "--most-memory",
        type=at_least(1),
        metavar="BYTES",
        help="fail where weights, tensors, inputs and outputs need more than this",
    )
    add_json_option(parser, "sizes and layers")
    does(parser, "export")


def _goal(text: str) -> str:
    if text not in _GOALS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of: {', '.join(_GOALS)}")
    return _GOALS[text]
