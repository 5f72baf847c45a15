"""`python -m npu_target.calibrate`: which fields of a config explain a device's cycles."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..device import DEFAULT_DEVICE
from ..external import ExternalError
from ..external.options import add_external_options
from ..tuning.options import INTERRUPTED, report_errors
from .errors import CalibrationError

if TYPE_CHECKING:
    from rich.console import Console

    from ..device import DeviceConfig
    from .measure import Run
    from .measurements import Measurements

_TIMEOUT_SECONDS = 3600.0


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m npu_target.calibrate",
        description="Run small programs and layers through a command that has a real device, or an "
        "RTL simulation of one, compare their cycles with the simulated device's, and say which "
        "fields of the config explain the difference. Without --run-with nothing runs, and the "
        "measurements that there are, are fitted to.",
    )
    result.add_argument(
        "--device",
        metavar="NAME|FILE",
        help="the config to begin with: a preset's name or a file that DeviceConfig.save wrote "
        f"(default: that of the measurements, else {DEFAULT_DEVICE})",
    )
    result.add_argument(
        "--measurements",
        type=Path,
        metavar="FILE",
        help="keep them there after each run; what is there already is not run again",
    )
    result.add_argument(
        "--save", type=Path, metavar="FILE", help="write the fitted device there, for --device"
    )
    result.add_argument(
        "--repeats", type=int, default=1, metavar="N", help="run each so often (default: 1)"
    )
    result.add_argument(
        "--timeout",
        type=float,
        default=_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="for one run (default: %(default)g)",
    )
    result.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="GROUP",
        help="leave out these programs; may be given several times",
    )
    result.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="FIELD",
        help="fit a field besides that the generator fixes, such as a queue's entries; may be "
        "given several times",
    )
    result.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="FIELD",
        help="do not fit a field, since its value is known; may be given several times",
    )
    add_external_options(result)
    # What measured is in the file of measurements, as the whole command.
    result.set_defaults(runner=None)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        return report_errors(lambda: _run(options))
    except (CalibrationError, ExternalError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    from ..device import find
    from ..tuning.report import make_console
    from .measurements import Measurements

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
    if options.run_with is not None and not _measure(console, options, measurements):
        return INTERRUPTED
    return _fit(console, options, measurements, start, fields)


def _check(options: argparse.Namespace) -> None:
    """What can be told before anything runs."""
    if options.repeats < 1:
        raise CalibrationError(f"--repeats {options.repeats}: needs 1 or more")
    if options.run_with is None and (
        options.measurements is None or not options.measurements.exists()
    ):
        raise CalibrationError(
            "nothing to fit to: --run-with gives a command that measures, or --measurements a file "
            "of what one measured"
        )
    for option in ("measurements", "save"):
        path = getattr(options, option)
        if path is not None and not path.absolute().parent.is_dir():
            raise CalibrationError(f"--{option} {path}: there is no folder {path.parent}")


def _fields(config: DeviceConfig, also: Sequence[str], keep: Sequence[str]) -> list[str]:
    """Those that are fitted."""
    from .experiments import set_of

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
    from .experiments import experiments_of
    from .measurements import Measurements

    with console.status("making programs and layers"):
        experiments = experiments_of(start, options.skip)
    return Measurements(_command(options), experiments)


def _command(options: argparse.Namespace) -> str:
    """What measures: the command, and how its ELFs are made."""
    from ..external.options import to_arguments

    return shlex.join(to_arguments(options))


def _check_same(
    options: argparse.Namespace, measurements: Measurements, start: DeviceConfig
) -> None:
    """That what is there was measured by the command, and runs on the device."""
    from ..device import kind_of

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


def _measure(console: Console, options: argparse.Namespace, measurements: Measurements) -> bool:
    """Run what has not run yet. False for a user who has had enough of it."""
    from .measure import measure

    run = _runner(options, measurements.config)
    file: Path | None = options.measurements
    every = options.repeats * len(measurements.experiments)

    def keep() -> None:
        if file is not None:
            measurements.save(file)

    with console.status("measuring") as status:
        try:
            measure(
                measurements,
                run,
                options.repeats,
                lambda experiment: status.update(
                    f"measuring, {measurements.runs} of {every} runs done: {experiment.name}"
                ),
                keep,
            )
        except KeyboardInterrupt:
            kept = (
                f"kept in {file}" if file is not None else "lost, as --measurements names no file"
            )
            print(f"stopped; {measurements.runs} of {every} runs are {kept}", file=sys.stderr)
            return False
    return True


def _runner(options: argparse.Namespace, config: DeviceConfig) -> Run:
    """What runs a program by the command. Raises ExternalError for one that cannot be started."""
    from ..external.options import external_device

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
    from .measure import check_spread
    from .report import print_result
    from .result import calibrate

    check_spread(measurements)
    name = None if options.save is None else options.save.stem
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
    if options.save is not None:
        result.config.save(options.save)
        console.print(f"The fitted device is in {options.save}.", highlight=False)
    return 0
