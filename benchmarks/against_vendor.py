"""`python -m benchmarks.against_vendor --model resnet18`: ours beside the vendor's library.

Every layer of a network runs in the same simulator three times: by the commands of the vendor's
own C library (see `vendor_library.py`), by our default schedule, and by the best schedule of the
tuning logs. The library's outputs are compared bit for bit, as ours are when they are tuned.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from rich import box
from rich.console import Console
from rich.table import Table

from npu_target.cli.errors import report_errors
from npu_target.device import DEFAULT_DEVICE, ConfigError, find
from npu_target.device_api import create_module, last_stats, run_stream, without_race_checks
from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.files import check_can_write
from npu_target.program import Program
from npu_target.program.addresses import FIRST_ADDRESS, default_addresses
from npu_target.topi import Conv2d, DepthwiseConv2d, MaxPool2d, Operator
from npu_target.tuning.choose import Chooser
from npu_target.tuning.errors import LogError, TuningError
from npu_target.tuning.expected import expected_output, sample_inputs
from npu_target.tuning.header import Header
from npu_target.tuning.layers import Layer
from npu_target.tuning.log import TuningLog, log_folder, read_log
from npu_target.tuning.models import check_model
from npu_target.tuning.network import load_network
from npu_target.tuning.places import shipped_logs
from npu_target.tuning.report import TUNED, write_json

from .vendor_library import (
    NotInLibraryError,
    tile_checks,
    vendor_inputs,
    vendor_output,
    vendor_program,
)
from .vendor_rtl import RTL_CYCLES, WARM, search_cycles

# Where output is no terminal, lines are as long as the table needs.
_FILE_COLUMNS = 140


@dataclass(frozen=True)
class Unit:
    """What the library runs by one call: an operator, or a convolution with its max pool."""

    operator: Operator
    pool: MaxPool2d | None
    count: int

    @property
    def name(self) -> str:
        return self.operator.name + (" + pool" if self.pool else "")

    @property
    def layers(self) -> list[Layer]:
        """Our layers for it."""
        operators = [self.operator, *([self.pool] if self.pool else [])]
        return [Layer(operator, self.count) for operator in operators]


@dataclass(frozen=True)
class Row:
    """Cycles of one run of a unit. `vendor` is None, with the reason, where the library has no
    form for it; `tuned` None where the logs have nothing better than the default. `vendor_call`
    is what compares with `rtl`, the call on the RTL where that is known: the library's search for
    tiles included, and with warm caches where the RTL's were."""

    unit: Unit
    vendor: int | None
    reason: str
    vendor_call: int | None
    default: int
    tuned: int | None
    rtl: int | None = None

    @property
    def ours(self) -> int:
        return self.default if self.tuned is None else self.tuned

    @property
    def deviation(self) -> float | None:
        """Of the simulated call from the RTL's; 0.1 is 10 % more."""
        if self.vendor_call is None or self.rtl is None:
            return None
        return self.vendor_call / self.rtl - 1

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.unit.name,
            "count": self.unit.count,
            "macs": self.unit.operator.macs,
            "vendor_cycles": self.vendor,
            **({"vendor_has_none": self.reason} if self.vendor is None else {}),
            "vendor_call_cycles": self.vendor_call,
            "default_cycles": self.default,
            "tuned_cycles": self.tuned,
            "speedup": None if self.vendor is None else self.vendor / self.ours,
            "rtl_cycles": self.rtl,
            "deviation_from_rtl": self.deviation,
        }


def units_of(operators: Sequence[Operator]) -> list[Unit]:
    """A network's operators as the library runs them, in order of first appearance.

    `operators` are in the network's order: a max pool right after the convolution whose output
    has its input's shape is fused with it.
    """
    counts: dict[tuple[Operator, MaxPool2d | None], int] = {}
    remaining = [operator.canonical() for operator in operators]
    while remaining:
        operator, following = remaining[0], remaining[1:]
        pool = None
        if isinstance(operator, (Conv2d, DepthwiseConv2d)) and following:
            after = following[0]
            if isinstance(after, MaxPool2d) and after.args[0].shape == operator.args[-1].shape:
                pool, following = after, following[1:]
        counts[operator, pool] = counts.get((operator, pool), 0) + 1
        remaining = following
    return [Unit(operator, pool, count) for (operator, pool), count in counts.items()]


def run_vendor(unit: Unit, config: GemminiConfig, seed: int = 0) -> int:
    """Cycles of the library's program for a unit.

    Raises NotInLibraryError, and TuningError for an output that is not the library's.
    """
    program = vendor_program(unit.operator, config, unit.pool)
    inputs = sample_inputs(unit.operator, seed)
    output, cycles = _run(program, vendor_inputs(unit.operator, inputs))
    expected = vendor_output(unit.operator, inputs)
    if unit.pool is not None:
        # The library pools what ReLU left; where elements may be negative, padding counts as 0.
        expected = expected_output(unit.pool, {"x": expected}, NUMBERS)
    if not np.array_equal(output, expected):
        wrong = int((output != expected).sum())
        raise TuningError(f"{unit.name}: the library's program gives {wrong} wrong elements")
    return cycles


def run_warm(unit: Unit, config: GemminiConfig) -> int:
    """Cycles of the library's program when it has just run over the same tensors."""
    program = vendor_program(unit.operator, config, unit.pool)
    addresses = default_addresses(program)
    stream = b"".join(struct.pack("<3Q", *words) for words in program.expand(addresses))
    last = program.args[-1]
    memory = bytes(addresses[last.name] + last.nbytes - FIRST_ADDRESS)
    once, twice = (
        run_stream(config, stream * runs, FIRST_ADDRESS, memory).stats.cycles for runs in (1, 2)
    )
    return twice - once


def _run(program: Program, inputs: dict[str, np.ndarray]) -> tuple[np.ndarray, int]:
    *input_args, output_arg = program.args
    tensors = [
        tvm.runtime.tensor(np.ascontiguousarray(inputs[arg.name].reshape(arg.shape)))
        for arg in input_args
    ]
    output = tvm.runtime.tensor(np.zeros(output_arg.shape, output_arg.dtype))
    # Of some layers the library relies on loads that end in the order in which they began.
    with without_race_checks():
        create_module({program.name: program.to_bytes()})[program.name](*tensors, output)
    stats = last_stats()
    assert stats is not None
    return output.numpy(), stats.cycles


def compare(units: Sequence[Unit], config: GemminiConfig, log: TuningLog | None) -> Iterator[Row]:
    """A row for each unit. Raises as `run_vendor` and `Chooser.results` do."""
    chooser = Chooser(config, log)
    for unit in units:
        vendor, call, reason = None, None, ""
        try:
            vendor = run_vendor(unit, config)
            call = search_cycles(tile_checks(unit.operator, config, unit.pool)) + (
                run_warm(unit, config) if unit.operator.name in WARM else vendor
            )
        except NotInLibraryError as error:
            reason = str(error)
        results = chooser.results(unit.layers)
        default = sum(result.default_cycles for result in results)
        tuned = None
        if any(result.source == TUNED for result in results):
            tuned = sum(result.cycles for result in results)
        rtl = RTL_CYCLES.get(unit.operator.name) if config.hash == GemminiConfig().hash else None
        yield Row(unit, vendor, reason, call, default, tuned, rtl)


def totals(rows: Sequence[Row]) -> dict[str, int]:
    """Cycles of all units that the library has a form for, `count` times each."""
    both = [(row, row.vendor) for row in rows if row.vendor is not None]
    return {
        "total_vendor_cycles": sum(row.unit.count * vendor for row, vendor in both),
        "total_default_cycles": sum(row.unit.count * row.default for row, _ in both),
        "total_cycles": sum(row.unit.count * row.ours for row, _ in both),
    }


def print_rows(
    console: Console, rows: Sequence[Row], config: GemminiConfig, form: box.Box = box.SIMPLE_HEAD
) -> None:
    """A line a unit, and the totals of those that both have."""
    has_rtl = any(row.deviation is not None for row in rows)
    title = None if form is box.MARKDOWN else f"{config.name}: cycles of one run"
    table = Table(title=title, title_justify="left", box=form, pad_edge=form is box.MARKDOWN)
    table.add_column("layer", no_wrap=True, overflow="ellipsis")
    headings = ["count", "ideal", "library", "default", "tuned", "speedup"]
    for heading in headings + ["RTL", "sim/RTL"] * has_rtl:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        ratio = "-"
        if row.vendor is not None:
            ratio = f"{row.vendor / row.ours:.2f}x"
            if row.vendor < row.ours:
                ratio = f"[red]{ratio}[/red]"
        ideal = row.unit.operator.macs // config.dim**2
        cells = [
            row.unit.name,
            str(row.unit.count),
            f"{ideal:,}" if ideal else "-",
            _cycles(row.vendor),
            _cycles(row.default),
            _cycles(row.tuned),
            ratio,
        ]
        if has_rtl:
            deviation = row.deviation
            cells += [_cycles(row.rtl), "" if deviation is None else f"{deviation:+.1%}"]
        table.add_row(*cells)
    both = [row for row in rows if row.vendor is not None]
    if both:
        total = totals(rows)
        vendor, ours = total["total_vendor_cycles"], total["total_cycles"]
        macs = sum(row.unit.count * row.unit.operator.macs for row in both)
        count = sum(row.unit.count for row in both)
        table.add_section()
        table.add_row(
            "total of what both have",
            str(count),
            f"{macs // config.dim**2:,}",
            f"{vendor:,}",
            f"{total['total_default_cycles']:,}",
            f"{ours:,}",
            f"{vendor / ours:.2f}x",
        )
    console.print(table)
    slower = sum(row.vendor < row.ours for row in rows if row.vendor is not None)
    if slower:
        console.print(f"slower than the library: {slower} of {len(both)} layers", highlight=False)
    for row in rows:
        if row.vendor is None:
            console.print(row.reason, highlight=False)


def _cycles(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m benchmarks.against_vendor",
        description="Compare what is compiled for a network's layers with the vendor's own C "
        "library: its commands, with its choice of tiles, run in the same simulator, and their "
        "outputs are checked. sim/RTL compares that with the hardware's RTL, where it is known, "
        "the host's time to choose tiles included.",
    )
    result.add_argument("--model", required=True, help="the network, as npu-target tune knows it")
    result.add_argument(
        "--device", default=DEFAULT_DEVICE, metavar="NAME|FILE", help="(default: %(default)s)"
    )
    result.add_argument(
        "--logs",
        type=Path,
        default=shipped_logs(),
        metavar="DIR",
        help="tuning logs are in DIR/<device>/<model>/ (default: %(default)s)",
    )
    result.add_argument("--json", type=Path, metavar="FILE", help="write the table for machines")
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return report_errors("python -m benchmarks.against_vendor", lambda: _main(options))


def _main(options: argparse.Namespace) -> int:
    config = find(options.device)
    if not isinstance(config, GemminiConfig):
        raise ConfigError(f"--device {options.device}: the library is for Gemmini only")
    check_model(options.model)
    if options.json is not None:
        check_can_write(options.json)
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_COLUMNS)
    header = Header.of(config, options.model, "python -m benchmarks.against_vendor")
    log = _read_log(options.logs, header, console)
    with console.status("loading, quantizing and partitioning the model"):
        network = load_network(options.model, config)
    units = units_of([region.operator for region in network.partitioned.regions])
    with console.status("running the library's programs and ours"):
        rows = _compare(units, config, log, console)
    print_rows(console, rows, config)
    if options.json is not None:
        write_json(
            options.json,
            {
                "device": config.name,
                "model": options.model,
                "layers": [row.as_json() for row in rows],
                **totals(rows),
            },
        )
    return 0


def _compare(
    units: Sequence[Unit], config: GemminiConfig, log: TuningLog | None, console: Console
) -> list[Row]:
    try:
        return list(compare(units, config, log))
    except LogError as error:
        console.print(f"without tuning logs: {error}", highlight=False)
        return list(compare(units, config, None))


def _read_log(logs: Path, header: Header, console: Console) -> TuningLog | None:
    """The logs in the folder `logs`, None where they cannot be used, having said why."""
    try:
        return read_log(log_folder(logs, header), header)
    except LogError as error:
        console.print(f"without tuning logs: {error}", highlight=False)
        return None


if __name__ == "__main__":
    sys.exit(main())
