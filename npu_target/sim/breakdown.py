"""Where the cycles of a run went: every cycle has exactly one reason.

The simulator decides, the device's manifest has the words; the table is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from npu_target.device.command_set import CommandSet
from npu_target.device.profile import ProfileTerms

_FIRST_TAGGED = 128  # of the simulator's numbers: those of commands told apart by a tag
_BAR_COLUMNS = 16


def named_counts(counts: Mapping[str, int], commands: CommandSet) -> dict[str, int]:
    """Commands by mnemonic, for the simulator's kinds: the funct, for configurations 128 + what rs1
    says."""
    named: dict[str, int] = {}
    for kind, count in ((int(kind), count) for kind, count in counts.items()):
        funct, tag = (0, kind - _FIRST_TAGGED) if kind >= _FIRST_TAGGED else (kind, 0)
        found = commands.find(funct, tag)
        named[found.mnemonic if found is not None else f"funct {funct}"] = count
    return named


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


@dataclass(frozen=True)
class _Bar:
    columns: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Of a character that the output has."""
        yield Text(("#" if options.ascii_only else "█") * self.columns)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self.columns, self.columns)


def breakdown_table(runs: Mapping[str, Mapping[str, int]], terms: ProfileTerms) -> Table:
    """A column of cycles and shares for each named run, and a bar for the last."""
    table = Table(title="Where the cycles went", title_justify="left")
    table.add_column("reason")
    for name in runs:
        table.add_column(name, justify="right")
        table.add_column("", justify="right")
    table.add_column("")
    totals = {name: sum(parts.values()) for name, parts in runs.items()}
    last = list(runs)[-1]
    for key, words in terms.reasons.items():
        cells = []
        for name, parts in runs.items():
            cells += [f"{parts[key]:,}", share(parts[key], totals[name])]
        whole = totals[last] or 1
        table.add_row(words, *cells, _Bar(round(_BAR_COLUMNS * runs[last][key] / whole)))
    table.add_section()
    cells = []
    for total in totals.values():
        cells += [f"{total:,}", share(total, total)]
    table.add_row("total", *cells, "")
    return table
