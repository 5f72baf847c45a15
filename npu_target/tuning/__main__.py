"""`python -m npu_target.tuning`: care for folders of tuning logs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from .options import default_timeout, report_errors

DROPPED = 3  # the exit code of a repair that could not keep all


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m npu_target.tuning")
    commands = parser.add_subparsers(dest="command", required=True)
    repairing = commands.add_parser(
        "repair",
        help="drop the damaged lines of tuning logs, keep the rest",
        description="Drop the damaged lines of tuning logs, put the others back into their order, "
        "and give a checksum to lines that have none. Changed files are kept in their old form "
        "beside the new one, with .broken at their end; whole logs are not touched.",
        epilog=f"Exit code: 0 when nothing was dropped or is missing, {DROPPED} when something "
        "was (which lines and why is printed), 1 when the folder cannot be repaired.",
    )
    repairing.add_argument("folder", type=Path, help="such as tuning_logs/gemmini-16x16/resnet18")
    repairing.add_argument(
        "--device", help="only where header.json is lost: the device the logs were made for"
    )
    repairing.add_argument("--model", help="only where header.json is lost: the model")
    repairing.set_defaults(run=_repair)
    measuring = commands.add_parser(
        "remeasure",
        help="measure the schedules in tuning logs anew, after the compiler has changed",
        description="Compile and measure the schedules in tuning logs anew, after the compiler or "
        "the simulator has changed, and replace the logs when all is measured. Schedules that no "
        "longer apply are dropped.",
    )
    measuring.add_argument("folder", type=Path, help="such as tuning_logs/gemmini-16x16/resnet18")
    measuring.add_argument(
        "--best", type=int, metavar="N", help="only each layer's fastest N (default: all)"
    )
    measuring.add_argument(
        "--device", help="the device they were made for (default: the preset that they name)"
    )
    measuring.add_argument(
        "--servers",
        type=int,
        metavar="N",
        help="how many servers to start, or to use of the tracker's (default: one per processor, "
        "or all of the tracker's)",
    )
    measuring.add_argument(
        "--tracker", metavar="HOST:PORT", help="measure on the servers of this tracker"
    )
    measuring.add_argument(
        "--runner",
        metavar="NAME",
        help="measure by this one, see rpc_server.server --run-with, into logs of its own beside "
        "the folder; '' is the simulator (default: what measured the folder)",
    )
    measuring.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="real time after which a candidate counts as hung (default: "
        f"{default_timeout(''):g}, by a runner {default_timeout('any'):g})",
    )
    measuring.set_defaults(run=_remeasure)
    options = parser.parse_args(arguments)
    for name in ("best", "servers"):
        value = getattr(options, name, None)
        if value is not None and value < 1:
            parser.error(f"--{name} must be at least 1, got {value}")
    if getattr(options, "timeout", None) is not None and not options.timeout > 0:
        parser.error(f"--timeout must be more than 0, got {options.timeout:g}")
    return report_errors(lambda: int(options.run(options)))


def _repair(options: argparse.Namespace) -> int:
    from ..device import find
    from .repair import repair

    config = find(options.device) if options.device else None
    results = repair(options.folder, config, options.model)
    for result in results:
        print(f"{result.file}: {result.kept} lines kept, {len(result.dropped)} dropped")
        kept = [
            (number, "could not be checked: kept, since it can be read")
            for number in result.unchecked
        ]
        for lines, reason in _in_ranges(sorted(result.dropped + kept)):
            print(f"  {lines}: {reason}")
    return DROPPED if any(result.dropped for result in results) else 0


def _in_ranges(lines: list[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Line numbers with a text each; neighbours with the same text become one."""
    for (_, text), group in groupby(
        enumerate(lines), lambda entry: (entry[1][0] - entry[0], entry[1][1])
    ):
        numbers = [number for _, (number, _) in group]
        several = f"lines {numbers[0]} to {numbers[-1]}"
        yield (several if len(numbers) > 1 else f"line {numbers[0]}"), text


def _remeasure(options: argparse.Namespace) -> int:
    from rpc_server.address import Address

    from ..device import find, preset
    from .build_pool import BuildPool
    from .cli import RUN_LOG_FILE
    from .devices import check_runner, device_pool
    from .header import Header
    from .interrupt import Interrupt
    from .log import read_log
    from .measuring import Measurer
    from .progress import TuningProgress
    from .remeasure import remeasure, remeasured_folder
    from .report import make_console

    header = Header.read(options.folder)
    config = find(options.device) if options.device else preset(header.device)
    header.check_device(Header.of(config, header.model, ""), options.folder)
    runner = header.runner if options.runner is None else options.runner
    tracker = None if options.tracker is None else Address.parse(options.tracker)
    check_runner(runner, tracker)
    target = remeasured_folder(options.folder, header, runner)
    timeout = options.timeout or default_timeout(runner)
    console = make_console()
    log = read_log(options.folder, header)
    total = sum(min(options.best or 1 << 30, len(log.records_of(w.mod))) for w in log.workloads)
    with (
        device_pool(
            config,
            tracker,
            options.servers,
            options.folder / RUN_LOG_FILE,
            console,
            runner,
            timeout,
        ) as pool,
        BuildPool(os.cpu_count() or 1, options.folder / RUN_LOG_FILE) as builders,
        Interrupt() as interrupt,
        TuningProgress(console, total) as progress,
    ):
        measurer = Measurer(
            config, builders, pool, interrupt, timeout_seconds=timeout, pipeline=header.options
        )
        results = remeasure(options.folder, options.best, config, measurer, progress, runner)
    for result in results:
        now = "none is left" if result.cycles is None else f"{result.cycles:,}"
        console.print(
            f"{result.name}: {result.cycles_before:,} -> {now} cycles, "
            f"{result.kept} schedules kept, {result.dropped} dropped",
            highlight=False,
        )
    if target != options.folder:
        console.print(f"wrote {target}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
