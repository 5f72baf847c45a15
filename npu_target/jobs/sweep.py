"""One network on many devices."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tvm
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import npu_target
from rpc_server.credentials import read_credentials

from ..device import DeviceConfig, find
from ..files import check_can_write
from ..sweep.devices import grid
from ..sweep.measure import measure_all, network_on
from ..sweep.plot_file import check_can_plot
from ..sweep.report import plot, print_sweep, to_json
from ..sweep.results import DeviceResult, ResultFiles
from ..sweep.tune import SweepTuning
from ..tuning.errors import TuningError
from ..tuning.models import check_model, is_file, model_name
from ..tuning.report import make_console, write_json
from .errors import Stopped, UsageError, of_option


def run(options: argparse.Namespace) -> int:
    base = find(options.device)
    check_model(options.model)
    with of_option("--vary"):
        points = grid(base, options.vary)
    configs = [point.config for point in points if point.config is not None]
    tuning = _tuning(options)
    if tuning is not None:
        tuning.check(configs)
    if options.json is not None:
        check_can_write(options.json)
    if options.plot is not None:
        check_can_plot(options.plot)
    model = model_name(options.model)
    folder = options.output or Path("sweeps") / model
    files = ResultFiles(folder, _asked(options))
    files.check_can_write()
    known: dict[DeviceConfig, DeviceResult] = {}
    missing = []
    for point in points:
        if point.config is not None:
            found = files.load(point.config)
            if found is None:
                missing.append(point)
            else:
                known[point.config] = found
    console = make_console()
    if known:
        console.print(f"{folder} holds {len(known)} of the devices", highlight=False)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("devices"), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console, transient=True) as progress:
            n_done = len(points) - len(missing)
            task = progress.add_task("", total=len(points), completed=n_done)
            for config, result in measure_all(options, missing, options.processes):
                files.save(config, result)
                known[config] = result
                progress.advance(task)
        if not any(known[config].layers for config in configs):
            raise TuningError(f"no device can run {model}: {known[configs[0]].reason}")
        if tuning is not None:
            for config, result in _tuned(options, tuning, configs, known, console):
                files.save(config, result)
                known[config] = result
    except KeyboardInterrupt:
        n_tuned = sum(result.trials > 0 for result in known.values())
        raise Stopped(
            f"{folder} holds {len(known)} of the {len(points)} devices"
            + (f", {n_tuned} of them tuned, and logs what was measured" if tuning else "")
            + f"; go on with: {options.command_line}"
        ) from None
    results = [known[config] for config in configs]
    if tuning is None:
        results = [result.by_default() for result in results]
    print_sweep(console, model, points, results)
    if options.json is not None:
        write_json(options.json, to_json(model, points, results))
    if options.plot is not None:
        plot(options.plot, model, results)
    console.print(f"results and devices are in {folder}", highlight=False)
    return 0


def _tuning(options: argparse.Namespace) -> SweepTuning | None:
    """How to tune, None for not at all. Raises UsageError for options without effect."""
    if options.trials is None:
        for name in ("logs", "tracker", "servers", "token_file", "tls_ca", "timeout"):
            if getattr(options, name) is not None:
                option = name.replace("_", "-")
                raise UsageError(f"--{option}: is for tuning; give --trials as well")
        return None
    return SweepTuning(
        model_name(options.model),
        options.trials,
        options.logs,
        options.tracker,
        options.servers,
        options.seed,
        options.timeout,
        options.command_line,
        read_credentials(options.token_file, options.tls_ca),
    )


def _tuned(
    options: argparse.Namespace,
    tuning: SweepTuning,
    configs: Sequence[DeviceConfig],
    known: Mapping[DeviceConfig, DeviceResult],
    console: Console,
) -> Iterator[tuple[DeviceConfig, DeviceResult]]:
    """What is known of those that are not tuned yet, after they are."""
    able = [config for config in configs if known[config].layers]
    for number, config in enumerate(able, start=1):
        if known[config].trials < tuning.trials:
            console.print(f"tuning {config.name}, {number} of {len(able)}", highlight=False)
            with console.status("loading, quantizing and partitioning the model"):
                layers = network_on(options, config).layers
            yield config, tuning.tune(config, layers, known[config], console)


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    """What cycles depend on besides the device."""
    return {
        "model": _digest(Path(options.model)) if is_file(options.model) else options.model,
        "weights": None if options.weights is None else _digest(options.weights),
        "weights_seed": options.weights_seed,
        "shapes": [[name, list(shape)] for name, shape in options.shape],
        "calibrate": [str(path) for path in options.calibrate],
        "numerics": [
            options.numerics,
            options.host,
            options.on_device,
            options.exact,
            options.all_on_device,
        ],
        "npu_target": npu_target.__version__,
        "tvm": tvm.__version__,
    }


def _digest(path: Path) -> str:
    """Of a file. Raises TuningError for one that cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise TuningError(f"{path} cannot be read: {error.strerror}") from error
