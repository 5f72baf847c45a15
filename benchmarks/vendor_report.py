"""`python -m benchmarks.vendor_report`: every model that has logs beside the vendor's library.

Rewrites `docs/results/against_vendor.md` with what `benchmarks.against_vendor` finds.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console

from benchmarks.places import RESULTS
from npu_target.cli.errors import report_errors
from npu_target.devices.gemmini import GemminiConfig
from npu_target.files import check_can_write, write_atomically
from npu_target.tuning.errors import TuningError
from npu_target.tuning.header import Header
from npu_target.tuning.log import read_log
from npu_target.tuning.network import load_network
from npu_target.tuning.places import shipped_logs

from .against_vendor import compare, print_rows, units_of

REPORT = RESULTS / "against_vendor.md"
_COLUMNS = 200


def section(model: str, logs: Path, config: GemminiConfig) -> str:
    """A model's table in Markdown. Raises LogError."""
    log = read_log(logs / model, Header.of(config, model, "python -m benchmarks.vendor_report"))
    regions = load_network(model, config).partitioned.regions
    rows = list(compare(units_of([region.operator for region in regions]), config, log))
    text = io.StringIO()
    print_rows(Console(file=text, width=_COLUMNS), rows, config, box.MARKDOWN)
    lines = (line.strip() for line in text.getvalue().splitlines())
    return "\n".join([f"## {model}", "", *(line for line in lines if line), ""])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.vendor_report", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--logs", type=Path, default=shipped_logs(), help="as of tune.py")
    parser.add_argument("--output", type=Path, default=REPORT, help="the report's file")
    options = parser.parse_args(arguments)
    return report_errors(parser.prog, lambda: _main(options.logs, options.output))


def _main(logs: Path, output: Path) -> int:
    config = GemminiConfig()
    check_can_write(output)
    folder = logs / config.name
    models = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if not models:
        raise TuningError(f"{folder} has no model's logs; tune one first: npu-target tune --model")
    head = [
        "# Beside the vendor's library",
        "",
        f"Made by `python -m benchmarks.vendor_report`. Cycles of one run on `{config.name}`,",
        "DDR3, caches cold: by the commands of the vendor's C library, by the default schedule,",
        "and by the best one of the logs (-: none is faster than the default). What the library",
        "is charged with is said on [its page](../../docs/vendor_library.md).",
        "",
    ]
    parts = []
    for model in models:
        print(model, flush=True)
        parts.append(section(model, folder, config))
    write_atomically(output, "\n".join([*head, *parts]).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
