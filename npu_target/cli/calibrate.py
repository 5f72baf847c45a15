"""`npu-target calibrate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..device import DEFAULT_DEVICE
from ..external.options import add_external_options
from .options import add_device_option, add_output_option, add_timeout_option
from .parsers import at_least, does

_TIMEOUT_SECONDS = 3600.0

SUMMARY = "find the config that has the cycles of your device"
DESCRIPTION = (
    "Run small programs and layers through a command that has a real device, or an RTL simulation "
    "of one, compare their cycles with the simulated device's, and say which fields of the config "
    "explain the difference. Without --run-with nothing runs, and the measurements that there are, "
    "are fitted to."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_device_option(parser, None, f"that of the measurements, else {DEFAULT_DEVICE}")
    parser.add_argument(
        "--measurements",
        type=Path,
        metavar="FILE",
        help="keep them there after each run; what is there already is not run again",
    )
    add_output_option(parser, "write the fitted device there, for --device")
    parser.add_argument(
        "--repeat",
        type=at_least(1),
        default=1,
        metavar="N",
        help="run each so often (default: %(default)s)",
    )
    add_timeout_option(parser, "for one run", "%(default)g", _TIMEOUT_SECONDS)
    for name, metavar, text in (
        ("--skip", "GROUP", "leave out these programs"),
        (
            "--also",
            "FIELD",
            "fit a field besides that the generator fixes, such as a queue's entries",
        ),
        ("--keep", "FIELD", "do not fit a field, since its value is known"),
    ):
        parser.add_argument(
            name,
            action="append",
            default=[],
            metavar=metavar,
            help=f"{text}; may be given several times",
        )
    add_external_options(parser)
    # What measured is in the file of measurements, as the whole command.
    does(parser, "calibrate", runner=None)
