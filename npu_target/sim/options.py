"""The options of `python -m npu_target.sim`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from npu_target.device import DEFAULT_DEVICE, DeviceConfig, find
from npu_target.external import ExternalDevice
from npu_target.external.options import add_external_options, add_runner_name, external_device

from .errors import SimError
from .external import External
from .run import MEMORIES, Options

PROGRAM = "npu_target.sim"
STDOUT = "-"
_FOREVER = 2**62
_TIMEOUT_SECONDS = 600.0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise SimError(message)


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Its errors are SimErrors."""
    parser = _Parser(
        prog=f"python -m {PROGRAM}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=f"python -m {PROGRAM} run FILE [options]\n"
        f"       python -m {PROGRAM} --compare A B [options]",
    )
    parser.add_argument("command", nargs="?", choices=["run"], help=argparse.SUPPRESS)
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="a saved program, or a raw command stream in JSON lines",
    )
    parser.add_argument(
        "--compare", nargs=2, type=Path, metavar=("A", "B"), help="explain how two runs differ"
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        help="which stream of a file of several; twice with --compare, for A and for B",
    )
    parser.add_argument(
        "--memory",
        choices=MEMORIES,
        default="ddr3",
        help="behind the L2: the device's own, or one that answers in a cycle (default: ddr3)",
    )
    parser.add_argument(
        "--device",
        "--config",
        metavar="NAME|FILE",
        help="a preset, or a device in JSON (default: the program's own; for raw streams "
        f"{DEFAULT_DEVICE})",
    )
    parser.add_argument(
        "--repeat",
        type=int,
        default=1,
        metavar="N",
        help="run N times, the first with cold caches, the others with warm ones (default: 1)",
    )
    parser.add_argument(
        "--races",
        action="store_true",
        help="refuse a stream whose result depends on an order that the hardware does not keep",
    )
    parser.add_argument(
        "--json",
        nargs="?",
        const=STDOUT,
        metavar="OUT",
        help="write the result for machines, to standard output instead of the tables or to OUT",
    )
    parser.add_argument(
        "--timeline",
        type=Path,
        metavar="OUT",
        help="write a trace for ui.perfetto.dev or chrome://tracing",
    )
    parser.add_argument(
        "--timeline-cycles",
        metavar="FROM:TO",
        help="of these cycles only, counted from the start of the first run",
    )
    external = parser.add_argument_group("on something else than the simulated device")
    add_external_options(external)
    add_runner_name(external)
    external.add_argument(
        "--timeout",
        type=float,
        default=_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="for one run by the command (default: %(default)g)",
    )
    for role, what in (("input", "read from"), ("output", "written to")):
        parser.add_argument(
            f"--{role}",
            action="append",
            default=[],
            metavar="NAME=FILE.npy",
            help=f"an {role} of a program, {what} a file of NumPy",
        )
    return parser


def run_options(arguments: argparse.Namespace) -> Options:
    """How to run. Raises SimError and ExternalError for what cannot be."""
    if arguments.repeat < 1:
        raise SimError(f"--repeat {arguments.repeat}: needs 1 or more")
    return Options(
        device=arguments.device,
        memory=arguments.memory,
        repeat=arguments.repeat,
        races=arguments.races,
        inputs=_named_files("--input", arguments.input),
        outputs=_named_files("--output", arguments.output),
        external=_external(arguments),
    )


def _external(arguments: argparse.Namespace) -> External | None:
    if arguments.run_with is None:
        external_device(arguments, find(DEFAULT_DEVICE))  # refuses what says how to use it
        return None
    if not arguments.timeout > 0:
        raise SimError(f"--timeout {arguments.timeout:g}: needs more than 0")
    for option, default in (("memory", "ddr3"), ("races", False), ("timeline", None)):
        if getattr(arguments, option) != default:
            raise SimError(f"--{option} is of the simulated device, --run-with runs on another one")

    def device(config: DeviceConfig) -> ExternalDevice:
        made = external_device(arguments, config)
        assert made is not None
        return made

    return External(device, arguments.timeout)


def _named_files(option: str, items: Sequence[str]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for item in items:
        name, separator, path = item.partition("=")
        if not name or not separator or not path:
            raise SimError(f"{option} {item}: needs NAME=FILE, such as x=x.npy")
        if name in files:
            raise SimError(f"{option} {item}: {name} has a file already")
        files[name] = Path(path)
    return files


def check_folders(arguments: argparse.Namespace, options: Options) -> None:
    """Before a long run: that there is a place for what it writes."""
    outputs = [("--output", path) for path in options.outputs.values()]
    outputs.append(("--timeline", arguments.timeline))
    if arguments.json not in (None, STDOUT):
        outputs.append(("--json", Path(arguments.json)))
    for option, path in outputs:
        if path is not None and not path.parent.is_dir():
            raise SimError(f"{option} {path}: there is no folder {path.parent}")


def cycles_window(text: str | None) -> tuple[int, int]:
    """From which cycle to which. Raises SimError."""
    if text is None:
        return 0, _FOREVER
    start, separator, end = text.partition(":")
    try:
        window = (int(start or 0), int(end or _FOREVER))
    except ValueError:
        window = (-1, -1)
    if not separator or not 0 <= window[0] < window[1] <= _FOREVER:
        raise SimError(f"--timeline-cycles {text}: needs FROM:TO, such as 1000:2000")
    return window
