"""`python -m npu_target.sim`: run a saved program, or a raw command stream, for its cycles.

run FILE prints how many cycles it takes, how busy the array is, the bytes that move, and where the
cycles went. --compare A B explains the difference of two runs: files as for run, or what --json
wrote of them. --run-with COMMAND runs a program by a command instead, with --compare the second
one.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from npu_target.device import DEFAULT_DEVICE, ConfigError, DeviceConfig, find, kind_named
from npu_target.external import ExternalDevice, ExternalError
from npu_target.external.options import add_external_options, add_runner_name, external_device
from npu_target.files import open_atomically, write_atomically
from npu_target.program.expr import ProgramError

from .breakdown import breakdown_table
from .compare import comparison_tables, difference, explanation, read_result
from .errors import SimError
from .external import External
from .run import MEMORIES, Options, Timeline, run_file

_PROGRAM = "npu_target.sim"
_STDOUT = "-"
_FOREVER = 2**62
_INTERRUPTED = 130
_TIMEOUT_SECONDS = 600.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise SimError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=f"python -m {_PROGRAM}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=f"python -m {_PROGRAM} run FILE [options]\n"
        f"       python -m {_PROGRAM} --compare A B [options]",
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
        const=_STDOUT,
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


def _options(arguments: argparse.Namespace) -> Options:
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


def _check_folders(arguments: argparse.Namespace, options: Options) -> None:
    """Before a long run: that there is a place for what it writes."""
    outputs = [("--output", path) for path in options.outputs.values()]
    outputs.append(("--timeline", arguments.timeline))
    if arguments.json not in (None, _STDOUT):
        outputs.append(("--json", Path(arguments.json)))
    for option, path in outputs:
        if path is not None and not path.parent.is_dir():
            raise SimError(f"{option} {path}: there is no folder {path.parent}")


def _window(text: str | None) -> tuple[int, int]:
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


def _run(arguments: argparse.Namespace, console: Console) -> None:
    if arguments.file is None:
        took = f"; --json {arguments.json} would write there" if arguments.json else ""
        raise SimError(f"run: needs a FILE, a saved program or a raw command stream{took}")
    if len(arguments.name) > 1:
        raise SimError("--name: needs one stream")
    options = _options(arguments)
    if arguments.name:
        options = replace(options, name=arguments.name[0])
    _check_folders(arguments, options)
    window = _window(arguments.timeline_cycles)
    if arguments.timeline is None:
        if arguments.timeline_cycles is not None:
            raise SimError("--timeline-cycles: needs --timeline OUT")
        result = run_file(arguments.file, options)
        note = None
    else:
        result, note = _run_with_timeline(arguments.file, options, arguments.timeline, window)
    if arguments.json == _STDOUT:
        print(json.dumps(result, indent=2))
    else:
        _print_result(result, console)
    if arguments.json not in (None, _STDOUT):
        write_atomically(arguments.json, (json.dumps(result, indent=2) + "\n").encode())
    if note is not None:
        print(f"{_PROGRAM}: {note}", file=sys.stderr)


def _run_with_timeline(
    file: Path, options: Options, path: Path, window: tuple[int, int]
) -> tuple[dict[str, Any], str | None]:
    """The result, and what there is to say about the timeline."""
    from .timeline import TimelineWriter

    with open_atomically(path) as out:
        writer = TimelineWriter(out, file.name)
        try:
            result = run_file(file, options, Timeline(writer, *window))
        except RuntimeError as error:
            if writer.error is not None:
                raise writer.error from error
            raise
        writer.close()
    if writer.cut_at is None:
        return result, None
    return result, (
        f"{path}: has the first {writer.slices:,} slices, up to about cycle {writer.cut_at:,}; "
        f"--timeline-cycles {writer.cut_at}:... shows what follows"
    )


def _print_result(result: dict[str, Any], console: Console) -> None:
    if "runner" in result:
        print(_title(result))
        print(f"  cycles       {' '.join(f'{cycles:,}' for cycles in result['cycles'])}")
        return
    last = result["runs"][-1]
    cycles = " ".join(f"{cycles:,}" for cycles in result["cycles"])
    order = " (cold first)" if len(result["cycles"]) > 1 else ""
    print(_title(result))
    print(f"  cycles       {cycles}{order}")
    print(
        f"  utilization  {100 * last['utilization']:.1f} % of {result['dim']}x{result['dim']} "
        f"multiply-accumulates a cycle ({last['macs']:,} in all)"
    )
    print(f"  bytes        {last['bytes_loaded']:,} loaded, {last['bytes_stored']:,} stored")
    unrolled = sum(last["unrolled"].values())
    loops = f", {unrolled:,} of the hardware's loops" if unrolled else ""
    print(f"  commands     {last['commands']:,} of the host{loops}")
    if "host" in result:
        host = result["host"]
        print(
            f"  host         {host['instructions_per_command']:.1f} instructions a command, "
            f"{host['loop_bytes']:,} bytes of code in loops, "
            f"{100 * host['once_share']:.1f} % of the cycles in code that runs once"
        )
    runs = {"cycles": last["breakdown"]}
    if len(result["runs"]) > 1:
        runs = {"cold": result["runs"][0]["breakdown"], "warm": last["breakdown"]}
    console.print(breakdown_table(runs, kind_named(result["kind"]).profile))


def _title(result: dict[str, Any]) -> str:
    where = f"measured by {result['runner']}" if "runner" in result else result["memory"]
    return f"{result['name']} on {result['device']}, {where}"


def _compare(arguments: argparse.Namespace, console: Console) -> None:
    for option in ("file", "timeline", "timeline_cycles"):
        if getattr(arguments, option) is not None:
            raise SimError("--compare A B: takes two files, and no timeline")
    options = _options(arguments)
    _check_folders(arguments, options)
    names = arguments.name * 2 if len(arguments.name) == 1 else arguments.name
    if len(names) > 2:
        raise SimError("--name: needs one for A and one for B")
    results = []
    for letter, path, name in zip("AB", arguments.compare, names or [None, None], strict=True):
        result = read_result(path)
        if result is None:
            external = options.external if letter == "B" else None
            result = run_file(path, replace(options, name=name, external=external))
        results.append(result)
    text = json.dumps(difference(*results), indent=2)
    if arguments.json == _STDOUT:
        print(text)
        return
    for letter, result in zip("AB", results, strict=True):
        print(f"{letter}: {_title(result)}")
    for table in comparison_tables(*results):
        console.print(table)
    print(explanation(*results))
    if arguments.json is not None:
        write_atomically(arguments.json, (text + "\n").encode())


class _Interrupted:
    """Remembers a signal: KeyboardInterrupt in a callback of the simulator comes out of it as
    another error."""

    def __init__(self) -> None:
        self.is_set = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.is_set = True
        raise KeyboardInterrupt


@contextmanager
def _one_line_errors(codes: list[int]) -> Iterator[None]:
    """Turns what may go wrong into a line on stderr and an exit code."""
    message = None
    code = 2
    interrupted = _Interrupted()
    before = {number: signal.signal(number, interrupted) for number in _SIGNALS}
    try:
        yield
    except KeyboardInterrupt:
        message, code = "interrupted", _INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; keep the interpreter from flushing again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except (SimError, ProgramError, ConfigError, ExternalError) as error:
        message = str(error)
    except RuntimeError as error:
        message = _device_error(error)
        if interrupted.is_set:
            message, code = "interrupted", _INTERRUPTED
        if message is None:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if message is not None:
        print(f"{_PROGRAM}: {' '.join(message.split())}", file=sys.stderr)
        codes.append(code)


def _device_error(error: RuntimeError) -> str | None:
    """What the device said, None for an error that is not of the device."""
    _, found, text = str(error).partition("NpuDeviceError ")
    return text.partition("\n")[0] if found else None


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or after one line on stderr 2, or 130 when interrupted."""
    codes: list[int] = []
    with _one_line_errors(codes):
        arguments = _parser().parse_args(argv)
        console = Console()
        if arguments.compare is not None:
            _compare(arguments, console)
        elif arguments.command == "run":
            _run(arguments, console)
        else:
            raise SimError("needs `run FILE` or `--compare A B`; --help says more")
        sys.stdout.flush()
    return codes[0] if codes else 0
