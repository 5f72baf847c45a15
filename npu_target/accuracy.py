"""`python -m npu_target.accuracy`: what a device's numbers cost a network, layer by layer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .tuning.options import add_network_options, report_errors

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from .device import DeviceConfig
    from .inputs import Samples
    from .numerics.differences import Apart
    from .tuning.network import FileModel

_TOPS = (1, 5)


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m npu_target.accuracy",
        description="Run a network on this host by the device's numbers and by those it should "
        "have, and print for each layer how far they are apart: of a network that comes quantized "
        "its own integers, of one in float the float network. Exits with 0 whatever is found.",
    )
    add_network_options(result.add_argument_group("network"))
    inputs = result.add_argument_group("inputs and output")
    inputs.add_argument(
        "--inputs",
        type=Path,
        required=True,
        metavar="PATH",
        help="what to run it on: images, .npy and .npz files, or a folder of such",
    )
    inputs.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="the right class of each input, a number a line, for top-1 and top-5",
    )
    inputs.add_argument("--json", type=Path, metavar="FILE", help="write the table for machines")
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return report_errors(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    from .device import find
    from .inputs import read_inputs
    from .tuning.network import FileModel, check_model, inputs_of, load_model
    from .tuning.report import check_can_write, make_console, write_json

    check_model(options.model)
    if options.json is not None:
        check_can_write(options.json)
    config = find(options.device)
    model = load_model(options.model, options.weights, options.weights_seed, dict(options.shape))
    samples = read_inputs(options.inputs, inputs_of(model))
    labels = None if options.labels is None else read_labels(options.labels, len(samples))
    if isinstance(model, FileModel) and model.imported.integer:
        report = _of_integers(model, config, options, samples, labels)
    else:
        report = _of_floats(config, options, samples, labels)
    print_report(make_console(), report)
    if options.json is not None:
        write_json(options.json, to_json(report))
    return 0


@dataclass
class Ranks:
    """How many samples have their right class among the first ones, of two networks."""

    labels: Sequence[int] | None
    right: dict[int, int] = field(default_factory=lambda: dict.fromkeys(_TOPS, 0))
    found: dict[int, int] = field(default_factory=lambda: dict.fromkeys(_TOPS, 0))

    def add(self, number: int, right: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> None:
        """Take in the outputs for a sample, of which the first are scores."""
        if self.labels is None:
            return
        for hits, outputs in ((self.right, right), (self.found, found)):
            rank = _rank(outputs[0], self.labels[number])
            for top in _TOPS:
                hits[top] += rank < top


@dataclass(frozen=True)
class Row:
    """A layer. ``alone`` is None where layers are not run by themselves."""

    name: str
    where: str
    numbers: str
    why: str
    alone: Apart | None
    accumulated: Apart


@dataclass(frozen=True)
class Report:
    """What was found. ``reference`` says against what."""

    model: str
    device: str
    reference: str
    samples: int
    rows: tuple[Row, ...]
    outputs: tuple[Apart, ...]
    ranks: Ranks


def _of_integers(
    model: FileModel,
    config: DeviceConfig,
    options: argparse.Namespace,
    samples: Samples,
    labels: Sequence[int] | None,
) -> Report:
    from .numerics import decide
    from .numerics.differences import differences
    from .tuning.network import asked_numerics

    zero_points = {name: by.zero_point[0] for name, by in model.imported.quantizations.items()}
    decided = decide(model.mod, config, asked_numerics(options), zero_points)
    ranks = Ranks(labels)
    found = differences(decided, samples, ranks.add)
    rows = tuple(
        Row(
            each.layer.name,
            each.layer.where,
            each.layer.form,
            each.layer.why,
            each.alone,
            each.accumulated,
        )
        for each in found.layers
    )
    reference = "its own integers"
    return Report(model.name, config.name, reference, len(samples), rows, found.outputs, ranks)


def _of_floats(
    config: DeviceConfig,
    options: argparse.Namespace,
    samples: Samples,
    labels: Sequence[int] | None,
) -> Report:
    from .numerics.float_differences import float_differences
    from .tuning.network import asked_network

    network = asked_network(options, config, lambda text: None)
    on_device = {region.name for region in network.partitioned.regions}
    ranks = Ranks(labels)
    found = float_differences(network.model.mod, network.quantized, samples, ranks.add)
    rows = tuple(
        Row(name, "device" if name in on_device else "host", "int8", "", None, apart)
        for name, apart in found.tensors.items()
    )
    reference = "the float network"
    return Report(
        network.model.name, config.name, reference, len(samples), rows, found.outputs, ranks
    )


def read_labels(path: Path, count: int) -> list[int]:
    """The right classes of ``count`` samples, a number a line.

    Raises InputsError for a file that is none.
    """
    from .inputs import InputsError

    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputsError(f"{path} cannot be read: {error}") from error
    wrong = next((line for line in lines if not line.isdecimal()), None)
    if wrong is not None:
        raise InputsError(f"{path}: a label is the number of a class, there is {wrong!r}")
    if len(lines) != count:
        raise InputsError(f"{path} has {len(lines)} labels, there are {count} inputs")
    return [int(line) for line in lines]


def _rank(scores: np.ndarray, label: int) -> int:
    """How many classes come before the right one; of equal scores those with a smaller number."""
    import numpy as np

    from .inputs import InputsError

    flat = scores.reshape(-1).astype(np.float64)
    if label >= flat.size:
        raise InputsError(f"label {label}: the network's first output has {flat.size} classes")
    return int((flat > flat[label]).sum() + (flat[:label] == flat[label]).sum())


def print_report(console: Console, report: Report) -> None:
    """A line a layer, then the network's outputs and its classes."""
    from rich.table import Table

    count = "1 input" if report.samples == 1 else f"{report.samples} inputs"
    title = f"{report.model} by the numbers of {report.device} against {report.reference}, {count}"
    table = Table(title=title, title_justify="left")
    table.add_column("layer", overflow="fold", min_width=16, max_width=40)
    table.add_column("where")
    table.add_column("numbers", min_width=14)
    has_alone = any(row.alone is not None for row in report.rows)
    for heading in ("elements", *(("differ", "most") if has_alone else ())):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("in the network", "most", "dB"):
        table.add_column(heading, justify="right", no_wrap=has_alone)
    for row in report.rows:
        alone = [] if row.alone is None else [_share(row.alone), f"{row.alone.most:g}"]
        table.add_row(
            row.name,
            row.where,
            row.numbers,
            f"{row.accumulated.elements:,}",
            *alone,
            *_cells(row.accumulated),
        )
    table.add_section()
    for number, apart in enumerate(report.outputs):
        cells = ["", ""] if has_alone else []
        table.add_row(f"output {number}", "", "", f"{apart.elements:,}", *cells, *_cells(apart))
    console.print(table)
    if report.ranks.labels is not None:
        for top in _TOPS:
            console.print(
                f"top-{top}: {report.ranks.found[top] / report.samples:.2%}, by "
                f"{report.reference} {report.ranks.right[top] / report.samples:.2%}"
            )


def _share(apart: Apart) -> str:
    return f"{apart.differ / apart.elements:.3%}" if apart.differ else "0"


def _cells(apart: Apart) -> list[str]:
    snr = "-" if apart.noise == 0 else f"{apart.snr_db:.1f}"
    return [_share(apart), f"{apart.most:.4g}", snr]


def to_json(report: Report) -> dict[str, Any]:
    """The report as plain values; shares of samples are 0 to 1, noise that is none is null."""
    result: dict[str, Any] = {
        "model": report.model,
        "device": report.device,
        "reference": report.reference,
        "samples": report.samples,
        "layers": [
            {
                "name": row.name,
                "where": row.where,
                "numbers": row.numbers,
                "why": row.why,
                **({} if row.alone is None else {"alone": _json(row.alone)}),
                "accumulated": _json(row.accumulated),
            }
            for row in report.rows
        ],
        "outputs": [_json(apart) for apart in report.outputs],
    }
    if report.ranks.labels is not None:
        for top in _TOPS:
            result[f"top{top}"] = report.ranks.found[top] / report.samples
            result[f"reference_top{top}"] = report.ranks.right[top] / report.samples
    return result


def _json(apart: Apart) -> dict[str, Any]:
    return {
        "elements": apart.elements,
        "differ": apart.differ,
        "most": apart.most,
        "snr_db": None if apart.noise == 0 else apart.snr_db,
    }


if __name__ == "__main__":
    sys.exit(main())
