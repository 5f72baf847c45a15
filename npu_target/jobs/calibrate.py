"""Calibrating: which fields of a config explain a device's cycles."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ..calibrate.errors import CalibrationError
from ..calibrate.experiments import experiments_of, set_of
from ..calibrate.measure import Run, check_spread, measure
from ..calibrate.measurements import Measurements
from ..calibrate.report import print_result
from ..calibrate.result import calibrate
from ..device import DEFAULT_DEVICE, DeviceConfig, find, kind_of
from ..external.asked import external_device
from ..external.options import to_arguments
from ..files import check_can_write
from ..tuning.report import make_console
from .errors import Stopped


def run(options: argparse.Namespace) -> int:
    _check(options)
    file: Path | None = options.measurements
    there = Measurements.load(file) if file is not None and file.exists() else None
    if options.device is None and there is not None:
        start = there.config
    else:
        start = find(options.device or DEFAULT_DEVICE)
    fields = _fields(start, options.also, options.keep)
    console = make_console()
    if there is None:
        measurements = _new(console, options, start)
    else:
        measurements = there
        _check_same(options, measurements, start)
    if options.run_with is not None:
        _measure(console, options, measurements)
    return _fit(console, options, measurements, start, fields)


def _check(options: argparse.Namespace) -> None:
    """What can be told before anything runs."""
    if options.run_with is None and (
        options.measurements is None or not options.measurements.exists()
    ):
        raise CalibrationError(
            "nothing to fit to: --run-with gives a command that measures, or --measurements a file "
            "of what one measured"
        )
    for path in (options.measurements, options.output):
        if path is not None:
            check_can_write(path)


def _fields(config: DeviceConfig, also: Sequence[str], keep: Sequence[str]) -> list[str]:
    """Those that are fitted."""
    given = set_of(config)
    known = (*given.fields, *given.sizes)
    for option, names in (("--also", also), ("--keep", keep)):
        for name in names:
            if name not in known:
                raise CalibrationError(
                    f"{option} {name}: is none of the fields that can be fitted, {', '.join(known)}"
                )
    wanted = dict.fromkeys((*given.fields, *also))
    return [name for name in wanted if name not in keep]


def _new(console: Console, options: argparse.Namespace, start: DeviceConfig) -> Measurements:
    with console.status("making programs and layers"):
        experiments = experiments_of(start, options.skip)
    return Measurements(_command(options), experiments)


def _command(options: argparse.Namespace) -> str:
    """What measures: the command, and how its ELFs are made."""
    return shlex.join(to_arguments(options))


def _check_same(
    options: argparse.Namespace, measurements: Measurements, start: DeviceConfig
) -> None:
    """That what is there was measured by the command, and runs on the device."""
    if options.run_with is not None and _command(options) != measurements.command:
        raise CalibrationError(
            f"{options.measurements} has what {measurements.command} measured; give another file "
            "for what another command measures"
        )
    made = measurements.config
    if made.kind != start.kind:
        raise CalibrationError(
            f"{options.measurements} is of a device of kind {made.kind}, {start.name} is one of "
            f"kind {start.kind}"
        )
    for name in kind_of(start).shape_fields:
        if getattr(made, name) != getattr(start, name):
            raise CalibrationError(
                f"{options.measurements} is of a device with {name} {getattr(made, name)}, "
                f"{start.name} has {getattr(start, name)}"
            )


def _measure(console: Console, options: argparse.Namespace, measurements: Measurements) -> None:
    """Run what has not run yet. Raises Stopped for a user who has had enough of it."""
    run = _runner(options, measurements.config)
    file: Path | None = options.measurements
    every = options.repeat * len(measurements.experiments)

    def keep() -> None:
        if file is not None:
            measurements.save(file)

    with console.status("measuring") as status:
        try:
            measure(
                measurements,
                run,
                options.repeat,
                lambda experiment: status.update(
                    f"measuring, {measurements.runs} of {every} runs done: {experiment.name}"
                ),
                keep,
            )
        except KeyboardInterrupt:
            kept = (
                f"kept in {file}" if file is not None else "lost, as --measurements names no file"
            )
            raise Stopped(f"{measurements.runs} of {every} runs are {kept}") from None


def _runner(options: argparse.Namespace, config: DeviceConfig) -> Run:
    """What runs a program by the command. Raises ExternalError for one that cannot be started."""
    device = external_device(options, config)
    assert device is not None
    return lambda program, arrays: device.measure(program, arrays, options.timeout)


def _fit(
    console: Console,
    options: argparse.Namespace,
    measurements: Measurements,
    start: DeviceConfig,
    fields: Sequence[str],
) -> int:
    check_spread(measurements)
    name = None if options.output is None else options.output.stem
    if name is not None:
        start.replace(name=name)  # refuses a name that no device can have
    with console.status("fitting") as status:
        result = calibrate(
            measurements,
            start,
            fields,
            name,
            lambda fitted: status.update(f"fitting: {dict(fitted.values)}"),
        )
    print_result(console, measurements, result)
    if options.output is not None:
        result.config.save(options.output)
        console.print(f"The fitted device is in {options.output}.", highlight=False)
    return 0
