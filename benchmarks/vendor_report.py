"""`python -m benchmarks.vendor_report`: every model that has logs beside the vendor's library.

Rewrites `docs/results/against_vendor.md` with what `benchmarks.against_vendor` finds.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console

from benchmarks.places import RESULTS
from npu_target.devices.gemmini import GemminiConfig
from npu_target.tuning.header import Header
from npu_target.tuning.log import read_log
from npu_target.tuning.network import load_network

from .against_vendor import compare, print_rows, units_of
from .model_reports import report_models

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


def head(config: GemminiConfig) -> list[str]:
    """The page's first lines."""
    return [
        "# Beside the vendor's library",
        "",
        f"Made by `python -m benchmarks.vendor_report`. Cycles of one run on `{config.name}`,",
        "DDR3, caches cold: by the commands of the vendor's C library, by the default schedule,",
        "and by the best one of the logs (-: none is faster than the default). What the library",
        "is charged with is said on [its page](../../docs/vendor_library.md).",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    program = "python -m benchmarks.vendor_report"
    return report_models(program, __doc__ or "", REPORT, head, section, arguments)


if __name__ == "__main__":
    sys.exit(main())
