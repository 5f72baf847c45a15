"""The stages of a compilation, and what each leaves as text: `--print-ir-after`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from . import rewriting
from .codegen.listing import placed_text, statements_text
from .device import kind_of
from .errors import UserError
from .files import write_atomically
from .passes import lower
from .passes.memory import Placement
from .program import Program
from .program.addresses import default_addresses
from .program.c import kernel_source

ALL = "all"
# Commands of a stream to show: more, nobody reads.
_MOST_COMMANDS = 1000


class StageError(UserError, ValueError):
    """A stage that there is none of, saying which there are."""


# In the order in which they are come to.  What `lower` has are TVM's passes and ours on TensorIR,
# those of `rewriting` are on programs; others stand for what their function in `_TEXTS` shows.
STAGES = (
    "scheduled",
    *lower.PASSES,
    "memory",
    "statements",
    "placed",
    "synchronized",
    "program",
    *rewriting.PASSES,
    "commands",
    "c",
)


def check_stages(names: Iterable[str]) -> frozenset[str]:
    """The stages of these names, of which ``all`` is every one.

    Raises
    ------
    StageError
        for a name that is none.
    """
    for name in names:
        if name != ALL and name not in STAGES:
            raise StageError(f"no pass is called {name!r}; there are: {ALL}, {', '.join(STAGES)}")
    return frozenset(STAGES if ALL in names else names)


class StagePrinter:
    """What `build_program` shows of one function, printed, or written into a folder of its own.

    Parameters
    ----------
    title : of the function, and the name of its folder.
    stages : of `check_stages`.
    folder : the folder of all functions; None to print.
    """

    def __init__(
        self,
        title: str,
        stages: frozenset[str],
        folder: Path | None = None,
        write: Callable[[str], object] = print,
    ) -> None:
        self.title = title
        self.stages = stages
        self.folder = None if folder is None else folder / title
        self.write = write
        self._arguments: Sequence[str] = ()
        self._n_shown = 0

    def __call__(self, stage: str, found: Any) -> None:
        """Called by the compiler with what a stage leaves."""
        if stage == "scheduled":
            self._arguments = [str(param.name) for param in found.params]
        if stage not in self.stages:
            return
        text = self._text(stage, found)
        if self.folder is None:
            self.write(f"---- {self.title}: after {stage} ----\n{text}")
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{self._n_shown:02}_{stage}.{_suffix(stage)}"
        write_atomically(self.folder / name, (text + "\n").encode())
        self._n_shown += 1

    def _text(self, stage: str, found: Any) -> str:
        if stage in ("placed", "synchronized"):
            return placed_text(found, self._arguments)
        show = _TEXTS.get(stage)
        if show is not None:
            return show(found)
        return str(found.text if isinstance(found, Program) else found.script())


def _memory_text(tiles: dict[str, Placement]) -> str:
    return "\n".join(
        f"{tile.scope}[{tile.row}:{tile.end_row}]  {name}, rows apart {list(tile.strides)}"
        for name, tile in tiles.items()
    )


def _commands_text(program: Program) -> str:
    """The stream, as the device gets it with each argument and constant on a page of its own."""
    addresses = default_addresses(program, first=0)
    stream = program.expand(addresses)
    left = len(stream) - _MOST_COMMANDS
    text = kind_of(program.config).commands.disassemble(stream[:_MOST_COMMANDS])
    head = ", ".join(f"{name} at {address:#x}" for name, address in addresses.items())
    more = f"\n... and {left} more" if left > 0 else ""
    return f"{len(stream)} commands; {head}\n{text}{more}"


_TEXTS: dict[str, Callable[[Any], str]] = {
    "memory": _memory_text,
    "statements": statements_text,
    "commands": _commands_text,
    "c": kernel_source,
}


def _suffix(stage: str) -> str:
    if stage == "c":
        return "c"
    return "py" if stage == "scheduled" or stage in lower.PASSES else "txt"
