"""Dropping the damaged lines of tuning logs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import groupby

from ..device import find
from ..tuning.repair import repair


def run(options: argparse.Namespace) -> int:
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
    return int(any(result.dropped for result in results))


def _in_ranges(lines: list[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Line numbers with a text each; neighbours with the same text become one."""
    for (_, text), group in groupby(
        enumerate(lines), lambda entry: (entry[1][0] - entry[0], entry[1][1])
    ):
        numbers = [number for _, (number, _) in group]
        several = f"lines {numbers[0]} to {numbers[-1]}"
        yield (several if len(numbers) > 1 else f"line {numbers[0]}"), text
