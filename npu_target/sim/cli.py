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

from npu_target.device import ConfigError, kind_named
from npu_target.external import ExternalError
from npu_target.files import open_atomically, write_atomically
from npu_target.program.expr import ProgramError

from .breakdown import breakdown_table
from .compare import comparison_tables, difference, explanation, read_result
from .errors import SimError
from .options import PROGRAM, STDOUT, check_folders, cycles_window, make_parser, run_options
from .run import Options, Timeline, run_file

_INTERRUPTED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _run(arguments: argparse.Namespace, console: Console) -> None:
    if arguments.file is None:
        took = f"; --json {arguments.json} would write there" if arguments.json else ""
        raise SimError(f"run: needs a FILE, a saved program or a raw command stream{took}")
    if len(arguments.name) > 1:
        raise SimError("--name: needs one stream")
    options = run_options(arguments)
    if arguments.name:
        options = replace(options, name=arguments.name[0])
    check_folders(arguments, options)
    window = cycles_window(arguments.timeline_cycles)
    if arguments.timeline is None:
        if arguments.timeline_cycles is not None:
            raise SimError("--timeline-cycles: needs --timeline OUT")
        result = run_file(arguments.file, options)
        note = None
    else:
        result, note = _run_with_timeline(arguments.file, options, arguments.timeline, window)
    if arguments.json == STDOUT:
        print(json.dumps(result, indent=2))
    else:
        _print_result(result, console)
    if arguments.json not in (None, STDOUT):
        write_atomically(arguments.json, (json.dumps(result, indent=2) + "\n").encode())
    if note is not None:
        print(f"{PROGRAM}: {note}", file=sys.stderr)


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
    options = run_options(arguments)
    check_folders(arguments, options)
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
    if arguments.json == STDOUT:
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
        print(f"{PROGRAM}: {' '.join(message.split())}", file=sys.stderr)
        codes.append(code)


def _device_error(error: RuntimeError) -> str | None:
    """What the device said, None for an error that is not of the device."""
    _, found, text = str(error).partition("NpuDeviceError ")
    return text.partition("\n")[0] if found else None


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or after one line on stderr 2, or 130 when interrupted."""
    codes: list[int] = []
    with _one_line_errors(codes):
        arguments = make_parser(__doc__).parse_args(argv)
        console = Console()
        if arguments.compare is not None:
            _compare(arguments, console)
        elif arguments.command == "run":
            _run(arguments, console)
        else:
            raise SimError("needs `run FILE` or `--compare A B`; --help says more")
        sys.stdout.flush()
    return codes[0] if codes else 0
