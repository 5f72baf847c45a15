"""A tile, and the tile of rows of a memory that it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tvm import tirx

from ..device import Memory
from .errors import CodegenError
from .linear import constant


class RowTile(NamedTuple):
    """A tile and what it becomes: itself, where its rows are those of the memory."""

    old: tirx.Buffer
    new: tirx.Buffer
    memory: Memory
    has_versions: bool

    @classmethod
    def of(cls, buffer: tirx.Buffer, memory: Memory, has_versions: bool) -> RowTile:
        """The tile of a buffer, whose first dimension may be of versions."""
        *lead, n = [constant(extent) for extent in buffer.shape]
        if n == memory.columns:
            return cls(buffer, buffer, memory, has_versions)
        first = lead[:1] if has_versions else []
        shape = (*first, 1, -(-n // memory.columns), *lead[len(first) :], memory.columns)
        new = tirx.decl_buffer(shape, str(buffer.dtype), buffer.name, scope=buffer.scope())
        return cls(buffer, new, memory, has_versions)

    @property
    def is_blocked(self) -> bool:
        """Whether its rows are those of the memory."""
        return self.new is self.old

    @property
    def columns(self) -> int:
        """Of a row of the memory."""
        return self.memory.columns

    @property
    def n(self) -> int:
        """Columns that a schedule sees."""
        return int(self.old.shape[-1])

    @property
    def axis(self) -> int:
        """The dimension of the columns, without versions."""
        return len(self.old.shape) - 1 - self.has_versions

    def indices(
        self, old: Sequence[tirx.Expr], block: tirx.Expr, column: tirx.Expr
    ) -> list[tirx.Expr]:
        """Where an element is in the new tile."""
        if self.is_blocked:
            return [*old[:-1], column]
        first = list(old[:1]) if self.has_versions else []
        return [*first, tirx.IntImm("int32", 0), block, *old[len(first) : -1], column]

    def error(self, text: str, at: tirx.Stmt) -> CodegenError:
        """What is wrong with its columns in a statement."""
        return CodegenError(f"tile `{self.old.name}`, axis {self.axis}: {text}", at)

    @property
    def needed(self) -> str:
        """What copies and steps have to keep to."""
        return f"a row of the {self.memory.title} has {self.columns} columns"
