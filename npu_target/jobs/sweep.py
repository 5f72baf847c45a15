"""One network on many devices."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import Any

import tvm
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import npu_target

from ..device import DeviceConfig, find
from ..files import check_can_write
from ..sweep.devices import grid
from ..sweep.measure import measure_all
from ..sweep.report import plot, print_sweep, to_json
from ..sweep.results import DeviceResult, ResultFiles
from ..tuning.errors import TuningError
from ..tuning.models import check_model, is_file, model_name
from ..tuning.report import make_console, write_json
from .errors import Stopped


def run(options: argparse.Namespace) -> int:
    base = find(options.device)
    check_model(options.model)
    points = grid(base, options.vary)
    for path in (options.json, options.plot):
        if path is not None:
            check_can_write(path)
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
    except KeyboardInterrupt:
        raise Stopped(
            f"{folder} holds {len(known)} of the {len(points)} devices; go on with: "
            f"{options.command_line}"
        ) from None
    results = [known[point.config] for point in points if point.config is not None]
    if not any(result.layers for result in results):
        raise TuningError(f"no device can run {model}: {results[0].reason}")
    print_sweep(console, model, points, results)
    if options.json is not None:
        write_json(options.json, to_json(model, points, results))
    if options.plot is not None:
        plot(options.plot, model, results)
    console.print(f"results and devices are in {folder}", highlight=False)
    return 0


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
