"""Running a saved program, or a raw command stream, for its cycles; comparing two."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from ..device import DEFAULT_DEVICE, DeviceConfig, find, kind_named
from ..external.asked import external_device
from ..external.device import ExternalDevice
from ..files import check_can_write, open_atomically, write_atomically
from ..sim.breakdown import breakdown_table
from ..sim.compare import comparison_tables, difference, explanation, read_result
from ..sim.errors import SimError
from ..sim.external import External
from ..sim.run import Options, Timeline, run_file
from ..sim.timeline import TimelineWriter
from ..tuning.report import make_console
from .errors import UsageError

_STDOUT = "-"  # in place of a file
_FOREVER = 2**62


def run(options: argparse.Namespace) -> int:
    console = make_console()
    with _device_errors():
        if options.action == "compare":
            _compare(options, console)
        else:
            _run(options, console)
    return 0


def _run(arguments: argparse.Namespace, console: Console) -> None:
    if len(arguments.name) > 1:
        raise UsageError("--name: needs one stream")
    options = _run_options(arguments)
    if arguments.name:
        options = replace(options, name=arguments.name[0])
    _check_places(arguments, options)
    window = _cycles_window(arguments.timeline_cycles)
    if arguments.timeline is None:
        if arguments.timeline_cycles is not None:
            raise UsageError("--timeline-cycles: needs --timeline FILE")
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
        print(f"{arguments.prog}: {note}", file=sys.stderr)


def _run_with_timeline(
    file: Path, options: Options, path: Path, window: tuple[int, int]
) -> tuple[dict[str, Any], str | None]:
    """The result, and what there is to say about the timeline."""
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
        f"  utilization  {100 * last['utilization']:.1f} % of {result['peak_macs']:,} "
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
    if not last["breakdown"]:
        return
    runs = {"cycles": last["breakdown"]}
    if len(result["runs"]) > 1:
        runs = {"cold": result["runs"][0]["breakdown"], "warm": last["breakdown"]}
    console.print(breakdown_table(runs, kind_named(result["kind"]).profile))


def _title(result: dict[str, Any]) -> str:
    where = f"measured by {result['runner']}" if "runner" in result else result["memory"]
    return f"{result['name']} on {result['device']}, {where}"


def _compare(arguments: argparse.Namespace, console: Console) -> None:
    options = _run_options(arguments)
    _check_places(arguments, options)
    names = arguments.name * 2 if len(arguments.name) == 1 else arguments.name
    if len(names) > 2:
        raise UsageError("--name: needs one for A and one for B")
    results = []
    for letter, path, name in zip(
        "AB", (arguments.a, arguments.b), names or [None, None], strict=True
    ):
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


@contextmanager
def _device_errors() -> Iterator[None]:
    """What the device says as a SimError."""
    try:
        yield
    except RuntimeError as error:
        _, found, text = str(error).partition("NpuDeviceError ")
        if not found:
            raise
        raise SimError(text.partition("\n")[0]) from error


def _run_options(arguments: argparse.Namespace) -> Options:
    """How to run. Raises UsageError and ExternalError for what cannot be."""
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
    for option, default in (("memory", "ddr3"), ("races", False), ("timeline", None)):
        if getattr(arguments, option) != default:
            raise UsageError(
                f"--{option} is of the simulated device, --run-with runs on another one"
            )

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
            raise UsageError(f"{option} {item}: needs NAME=FILE, such as x=x.npy")
        if name in files:
            raise UsageError(f"{option} {item}: {name} has a file already")
        files[name] = Path(path)
    return files


def _check_places(arguments: argparse.Namespace, options: Options) -> None:
    """Before a long run: that there is a place for what it writes."""
    paths = [*options.outputs.values(), arguments.timeline]
    if arguments.json not in (None, _STDOUT):
        paths.append(Path(arguments.json))
    for path in paths:
        if path is not None:
            check_can_write(path)


def _cycles_window(text: str | None) -> tuple[int, int]:
    """From which cycle to which. Raises UsageError."""
    if text is None:
        return 0, _FOREVER
    start, separator, end = text.partition(":")
    try:
        window = (int(start or 0), int(end or _FOREVER))
    except ValueError:
        window = (-1, -1)
    if not separator or not 0 <= window[0] < window[1] <= _FOREVER:
        raise UsageError(f"--timeline-cycles {text}: needs FROM:TO, such as 1000:2000")
    return window
