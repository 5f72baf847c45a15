"""`npu-target accuracy`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..pipeline_options import DEFAULT
from ..tuning.routes import BESIDE
from .options import add_input_option, add_json_option, add_network_options, add_report_option
from .parsers import does

SUMMARY = "what the device's numbers cost a network, layer by layer"
DESCRIPTION = (
    "Run a network on this host by the device's numbers and by those it should have, and print for "
    "each layer how far they are apart: of a network that comes quantized its own integers, of one "
    "in float the float network. Exits with 0 whatever is found."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_network_options(parser.add_argument_group("network"))
    inputs = parser.add_argument_group("inputs and output")
    add_input_option(inputs)
    inputs.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="the right class of each input, a number a line, for top-1 and top-5",
    )
    inputs.add_argument(
        "--cycles",
        action="store_true",
        help="of a network that comes quantized, print what to choose layers by instead: for each "
        "what it costs exactly, and what by the device's own numbers, which differ by so much; "
        "cycles are those of the tuning logs' schedules, else of the default ones",
    )
    add_json_option(inputs, "the table")
    add_report_option(inputs, "the table, with charts,")
    # Cycles are those of what `npu-target build` makes when it is not told otherwise.
    does(parser, "accuracy", require_tuned=False, routes=BESIDE, pipeline=DEFAULT)
