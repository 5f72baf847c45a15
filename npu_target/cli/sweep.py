"""`npu-target sweep`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from .options import (
    add_device_option,
    add_json_option,
    add_logs_folder_option,
    add_model_options,
    add_output_option,
    add_servers_options,
)
from .parsers import at_least, does, seed, varied

SUMMARY = "one network on many devices: which are worth their area"
DESCRIPTION = (
    "Compile and simulate a network on every combination of a device's numbers, layers by their "
    "default schedules or, with --trials, by tuned ones, and print which devices are worth their "
    "area. Ctrl-C stops; the same command goes on."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    network = parser.add_argument_group("network and device to begin with")
    add_model_options(network)
    add_device_option(network)
    sweep = parser.add_argument_group("sweep")
    sweep.add_argument(
        "--vary",
        type=varied,
        action="append",
        required=True,
        metavar="NAME=N,N,...",
        help="a number of the device and its values, such as dim=8,16,32 or spad_kib=128,256; may "
        "be given several times, for every combination",
    )
    add_output_option(
        sweep,
        "where results are kept, and each device as a file that --device takes (default: "
        "sweeps/MODEL)",
        metavar="DIR",
    )
    sweep.add_argument(
        "--processes",
        type=at_least(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="how many devices to work on at once (default: one per processor, %(default)s)",
    )
    add_json_option(sweep, "everything")
    sweep.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw area against time into a .png, .svg or .pdf file (needs Matplotlib)",
    )
    tuning = parser.add_argument_group("tuning")
    tuning.add_argument(
        "--trials",
        type=at_least(1),
        metavar="N",
        help="tune the layers of each device as well: how many candidates to measure on each, with "
        "those that its logs hold (default: default schedules only)",
    )
    tuning.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="of the search (default: %(default)s)"
    )
    add_logs_folder_option(
        tuning,
        "tuning logs are in DIR/<device>/<model>/; those that come with this package do not count, "
        "so that all devices have equal chances",
    )
    add_servers_options(tuning, or_runner=False)
    does(parser, "sweep")
