"""Layers with their cycles, as a sequence that shows itself as a table."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, overload

from rich.console import Console, Group
from rich.table import Table

from ..device import DeviceConfig
from ..errors import UserError
from ..export.times import NetworkTime
from ..tuning.layer_table import layer_table
from ..tuning.report import LayerResult, to_json
from ..whole_network import time_table

_TEXT_COLUMNS = 132


class NoSuchLayer(UserError, LookupError):
    """A layer that is none of these; the text has their names."""


class Layers(Sequence[LayerResult]):
    """The distinct layers of a network on a device: printed, or at the end of a notebook's cell,
    the table that the commands print.

    Each has `layer.name`, `layer.count`, `layer.operator`, `default_cycles`, `cycles`, `source`
    ("default", "tuned"; "forced" for a route that was asked for): see
    :class:`npu_target.tuning.report.LayerResult`.

    Attributes
    ----------
    config : the device.
    time : of the whole network, its layers one after another with what the caches then hold, and
        the host's own parts; None where that is not known.
    """

    def __init__(
        self,
        config: DeviceConfig,
        results: Sequence[LayerResult],
        time: NetworkTime | None = None,
    ) -> None:
        self.config = config
        self.time = time
        self._results = tuple(results)

    @overload
    def __getitem__(self, index: int) -> LayerResult: ...
    @overload
    def __getitem__(self, index: slice) -> Layers: ...
    def __getitem__(self, index: int | slice) -> LayerResult | Layers:
        if isinstance(index, slice):
            return Layers(self.config, self._results[index])
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def named(self, name: str) -> LayerResult:
        """The layer of this name. Raises NoSuchLayer with the names that there are."""
        for result in self._results:
            if result.layer.name == name:
                return result
        raise NoSuchLayer(f"no layer is called {name!r}; there are: {', '.join(self.names)}")

    @property
    def names(self) -> list[str]:
        """Of the layers, in the network's order."""
        return [result.layer.name for result in self._results]

    @property
    def cycles(self) -> int:
        """Of the network by the schedules that are taken: of each layer by itself, added up."""
        return sum(result.layer.count * result.cycles for result in self._results)

    @property
    def default_cycles(self) -> int:
        """The same by default schedules."""
        return sum(result.layer.count * result.default_cycles for result in self._results)

    @property
    def milliseconds(self) -> float:
        """`cycles` at the device's clock."""
        return self.cycles / self.config.clock_khz

    def to_json(self) -> dict[str, Any]:
        """As `npu-target build --json` has it."""
        more = {} if self.time is None else {"in_sequence": self.time.to_json()}
        return to_json(self._results, self.config, **more)

    def __rich__(self) -> Table | Group:
        table = layer_table(self._results, self.config, in_sequence=True)
        if self.time is None:
            return table
        return Group(table, "", time_table(self._results, self.config, self.time))

    def __str__(self) -> str:
        console = Console(file=io.StringIO(), width=_TEXT_COLUMNS)
        console.print(self)
        return console.file.getvalue()  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"<{len(self)} layers on {self.config.name}, {self.cycles:,} cycles>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        console = Console(file=io.StringIO(), width=_TEXT_COLUMNS, record=True)
        console.print(self)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
