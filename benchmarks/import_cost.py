"""`python -m benchmarks.import_cost`: what reading a large network file takes.

Writes a file of each kind, reads each in a process of its own, and rewrites
`docs/results/import_cost.md` and `.json`: seconds, from the call of `load` until there is a
network, with the libraries that it imports, and the most memory that the process had.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from npu_target.files import write_atomically

from .large_files import KINDS, WEIGHTS
from .places import RESULTS
from .simulator_speed import machine

MOST_SECONDS = 30.0
MOST_BYTES = 2e9

_READ = """
import sys, time
from pathlib import Path
from npu_target.frontend import load
from benchmarks.simulator_speed import peak_bytes
before, start = peak_bytes(), time.perf_counter()
network = load(Path(sys.argv[1]))
seconds = time.perf_counter() - start
print(seconds, peak_bytes(), before, int(network.integer))
"""


@dataclass(frozen=True)
class ImportCost:
    """seconds : of `load`. peak_bytes : of the process. bytes_before : what that had before."""

    kind: str
    file_bytes: int
    is_integer: bool
    seconds: float
    peak_bytes: int
    bytes_before: int


def measure(kind: str, path: Path) -> ImportCost:
    """What reading a file takes, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], check=True, capture_output=True, text=True
    )
    seconds, peak, before, integer = done.stdout.splitlines()[-1].split()
    return ImportCost(
        kind, path.stat().st_size, integer == "1", float(seconds), int(peak), int(before)
    )


def measure_kind(kind: str, megabytes: float, folder: Path) -> ImportCost:
    """What a file of about so many million bytes takes, which is written to ``folder`` first."""
    write, suffix, weight_bytes = KINDS[kind]
    path = folder / f"large.{suffix}"
    write(path, max(1, round(megabytes * 1e6 / (WEIGHTS * weight_bytes))))
    try:
        return measure(kind, path)
    finally:
        path.unlink()


def markdown(costs: Sequence[ImportCost], on: str) -> str:
    """The report."""
    lines = [
        "# What reading a large file takes",
        "",
        f"Rewritten by `python -m benchmarks.import_cost`. Machine: {on}.",
        "",
        "3x3 convolutions of 512 channels one after the other. Each file is read by a process of",
        "its own: wall seconds of `load`, with the libraries that it imports; the most memory of",
        "that process, and what it had before.",
        "",
        "| file | MB | becomes | seconds | memory, MB | before, MB |",
        "|---|---|---|---|---|---|",
    ]
    for cost in costs:
        lines.append(
            f"| {cost.kind} | {cost.file_bytes / 1e6:.0f} "
            f"| {'integers' if cost.is_integer else 'floats'} | {cost.seconds:.1f} "
            f"| {cost.peak_bytes / 1e6:,.0f} | {cost.bytes_before / 1e6:,.0f} |"
        )
    seconds, memory = max(c.seconds for c in costs), max(c.peak_bytes for c in costs)
    lines += [
        "",
        "| aim | at most | worst | |",
        "|---|---|---|---|",
        f"| seconds | {MOST_SECONDS:.0f} | {seconds:.1f} | {_verdict(seconds, MOST_SECONDS)} |",
        f"| memory, MB | {MOST_BYTES / 1e6:,.0f} | {memory / 1e6:,.0f} "
        f"| {_verdict(memory, MOST_BYTES)} |",
        "",
    ]
    return "\n".join(lines)


def _verdict(has: float, most: float) -> str:
    return "met" if has <= most else "missed"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.import_cost", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--megabytes", type=float, default=100, help="of each file, about (default 100)"
    )
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument(
        "--output", type=Path, default=RESULTS, help="folder of the report (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if not 0 < options.megabytes <= 1900:
        parser.error(f"--megabytes: needs to be above 0, up to 1900, is {options.megabytes:g}")
    with tempfile.TemporaryDirectory() as folder:
        costs = [measure_kind(kind, options.megabytes, Path(folder)) for kind in options.kinds]
    text = markdown(costs, machine())
    record = {"machine": machine(), "files": [asdict(cost) for cost in costs]}
    options.output.mkdir(parents=True, exist_ok=True)
    write_atomically(options.output / "import_cost.md", text.encode())
    write_atomically(
        options.output / "import_cost.json", (json.dumps(record, indent=1) + "\n").encode()
    )
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
