"""`npu-target logs`."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import (
    add_device_option,
    add_json_option,
    add_logs_options,
    add_output_option,
    add_servers_options,
)
from .parsers import at_least, does

SUMMARY = "show, merge, export, repair or remeasure tuning logs"
DESCRIPTION = (
    "Look at tuning logs and take care of them: those that come with this package, and your own."
)
_FOLDER = "a folder of logs, such as my_logs/gemmini-16x16/resnet18"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(
        dest="action", required=True, metavar="show|best|merge|export|repair|remeasure"
    )
    _add_show(commands)
    _add_best(commands)
    _add_merge(commands)
    _add_export(commands)
    _add_repair(commands)
    _add_remeasure(commands)


def _add_show(commands: argparse._SubParsersAction) -> None:
    show = commands.add_parser(
        "show",
        help="what logs there are, and of a model each layer's history",
        description="List the logs that there are. With --model, list its layers: for each the "
        "schedules that were measured, those that failed, the best cycles, when and by what they "
        "were measured; with --layer, each step by which a layer became faster.",
    )
    show.add_argument("--model", metavar="NAME|FILE", help="of this model only, by layer")
    show.add_argument("--layer", metavar="LAYER", help="of this layer only, step by step")
    add_device_option(show, None, "all")
    show.add_argument("--runner", default="", metavar="NAME", help="measured by this one")
    add_logs_options(show)
    add_json_option(show, "the table")
    does(show, "logs_show")


def _add_best(commands: argparse._SubParsersAction) -> None:
    best = commands.add_parser(
        "best",
        help="print a layer's fastest schedule",
        description="Print the fastest schedule that the logs have for a layer, as the trace that "
        "TVM replays, in Python.",
    )
    _add_which(best)
    best.add_argument("layer", metavar="LAYER", help="its name, as `logs show --model` has it")
    does(best, "logs_best")


def _add_merge(commands: argparse._SubParsersAction) -> None:
    merge = commands.add_parser(
        "merge",
        help="join several folders of logs into one",
        description="Join folders of logs of the same device and versions into a new one of the "
        "first one's model: what several have is in it once. Of logs of other models, or of an "
        "operator alone, it takes the layers that the first folder has too.",
    )
    merge.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help=_FOLDER)
    add_output_option(merge, "make DIR/<device>/<model>/", "DIR", required=True)
    does(merge, "logs_merge")


def _add_export(commands: argparse._SubParsersAction) -> None:
    export = commands.add_parser(
        "export",
        help="write a folder with each layer's fastest schedules only",
        description="Write the logs that a build reads for a model, your own and those that come "
        "with this package, as one folder with each layer's fastest schedules only: to keep, or to "
        "hand on.",
    )
    _add_which(export)
    export.add_argument(
        "--best",
        type=at_least(1),
        default=1,
        metavar="N",
        help="each layer's fastest N (default: %(default)s)",
    )
    add_output_option(export, "make DIR/<device>/<model>/", "DIR", required=True)
    does(export, "logs_export")


def _add_repair(commands: argparse._SubParsersAction) -> None:
    repair = commands.add_parser(
        "repair",
        help="drop the damaged lines of tuning logs, keep the rest",
        description="Drop the damaged lines of tuning logs, put the others back into their order, "
        "and give a checksum to lines that have none. Changed files are kept in their old form "
        "beside the new one, with .broken at their end; whole logs are not touched.",
        epilog="Exit code: 0 when nothing was dropped or is missing, 1 when something was (which "
        "lines and why is printed), or when the folder cannot be repaired.",
    )
    repair.add_argument("folder", type=Path, metavar="FOLDER", help=_FOLDER)
    add_device_option(repair, None, "that of header.json; needed only where that is lost")
    repair.add_argument("--model", help="only where header.json is lost: the model")
    does(repair, "logs_repair")


def _add_remeasure(commands: argparse._SubParsersAction) -> None:
    remeasure = commands.add_parser(
        "remeasure",
        help="measure the schedules in tuning logs anew, after the compiler has changed",
        description="Compile and measure the schedules in tuning logs anew, after the compiler or "
        "the simulator has changed, and replace the logs when all is measured. Schedules that no "
        "longer apply are dropped.",
    )
    remeasure.add_argument("folder", type=Path, metavar="FOLDER", help=_FOLDER)
    remeasure.add_argument(
        "--best", type=at_least(1), metavar="N", help="only each layer's fastest N (default: all)"
    )
    add_device_option(remeasure, None, "the preset that they name")
    add_servers_options(remeasure)
    remeasure.add_argument(
        "--runner",
        metavar="NAME",
        help="measure by this one, see npu-target serve devices --run-with, into logs of its own "
        "beside the folder; '' is the simulator (default: what measured the folder)",
    )
    does(remeasure, "logs_remeasure")


def _add_which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", required=True, metavar="NAME|FILE", help="of this model")
    add_device_option(parser)
    parser.add_argument("--runner", default="", metavar="NAME", help="measured by this one")
    add_logs_options(parser)
