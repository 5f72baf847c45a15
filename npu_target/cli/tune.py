"""`npu-target tune`."""

from __future__ import annotations

import argparse

from ..tuning.choices import SEARCHES, SPACES
from .columns import columns
from .options import (
    add_network_options,
    add_output_options,
    add_pipeline_option,
    add_print_options,
    add_routes_option,
    add_servers_options,
)
from .parsers import at_least, does, seed

_DEFAULT_TRIALS = 300

SUMMARY = "search for faster schedules of a network by measuring them"
DESCRIPTION = (
    "Compile a network, or one operator, for an NPU, search for faster schedules of its layers by "
    "measuring them on simulated devices, write what was found to logs, and print what was gained. "
    "`npu-target build` uses the logs. Ctrl-C stops after the current step; nothing measured is "
    "lost. TVM's RPC has no authentication: use --tracker only with --token-file, or in a network "
    "that you trust."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = columns(of_search=True)
    add_network_options(parser, or_operator=True)
    tuning = parser.add_argument_group("tuning")
    tuning.add_argument(
        "--trials",
        type=at_least(1),
        default=_DEFAULT_TRIALS,
        metavar="N",
        help="how many candidates to measure, over all layers; with --resume, those in your logs "
        "count (default: %(default)s)",
    )
    tuning.add_argument(
        "--space",
        choices=SPACES,
        default="both",
        help="search the hand-written templates, the schedules that rules generate, or both "
        "(default: %(default)s)",
    )
    tuning.add_argument(
        "--search",
        choices=SEARCHES,
        default="points",
        help="how: our own search between structures and tile sizes, or MetaSchedule's "
        "evolutionary one with its cost model (default: %(default)s)",
    )
    add_routes_option(
        tuning,
        "measure the device's routes, ways to compute a layer without a schedule, such as its "
        "vendor's library, beside the search, not at all, or alone",
    )
    tuning.add_argument(
        "--ops",
        metavar="OP,...",
        help="tune only layers of these operators, such as conv2d,matmul (default: all)",
    )
    tuning.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="of the search (default: %(default)s)"
    )
    tuning.add_argument(
        "--resume",
        action="store_true",
        help="go on with an interrupted run: what your logs hold counts as part of --trials",
    )
    add_servers_options(parser.add_argument_group("measuring"))
    output = parser.add_argument_group("output")
    add_output_options(output)
    add_pipeline_option(output)
    add_print_options(output)
    output.add_argument(
        "--host-columns",
        action="store_true",
        help="three columns more in the table, as --json has them: the host core's instructions "
        "for a command, bytes of code in loops, and the share of the cycles in code that runs once",
    )
    does(parser, "tune")
