"""The memories of a device of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .limits import ConfigError


def _bits(dtype: str) -> int:
    """Of an integer type; NumPy would know, and is not imported with a device."""
    return int(dtype.removeprefix("u").removeprefix("int"))


@dataclass(frozen=True)
class Memory:
    """Rows that the device's commands name.

    scope : its storage scope in TensorIR, such as `global.scratchpad`.
    title : in messages.
    rows : how many there are.
    bank_rows : how many share a port; as many as there are where no banks are told apart.
    columns : elements of a row.
    dtype : of an element.
    """

    scope: str
    title: str
    rows: int
    bank_rows: int
    columns: int
    dtype: str

    @property
    def n_bytes(self) -> int:
        """What it holds."""
        return self.rows * self.columns * _bits(self.dtype) // 8


@dataclass(frozen=True)
class Memories:
    """Where a device keeps what its step takes and gives: `C[i, j] += A[i, k] * B[k, j]`.

    Several may be the same memory. Raises ConfigError for two that are not, of one storage scope.

    inputs : rows of A.
    weights : rows of B.
    sums : rows of C.
    """

    inputs: Memory
    weights: Memory
    sums: Memory

    def __post_init__(self) -> None:
        for memory in self.all:
            other = self.find(memory.scope)
            if other != memory:
                assert other is not None
                raise ConfigError(
                    f"{other.title!r} and {memory.title!r} are two memories of one scope, "
                    f"{memory.scope!r}; where rows of one scratchpad are both, cut it into fixed "
                    "parts, each a Memory with a scope and rows of its own (docs/porting.md)"
                )

    @cached_property
    def all(self) -> tuple[Memory, ...]:
        """Each of them once."""
        return tuple(dict.fromkeys((self.inputs, self.weights, self.sums)))

    @cached_property
    def scopes(self) -> frozenset[str]:
        """Their storage scopes."""
        return frozenset(memory.scope for memory in self.all)

    def have_room(self, inputs: Any, weights: Any, sums: Any) -> Any:
        """Whether so many rows of each fit at once; of arrays of numbers, which of them do."""
        needed: dict[Memory, Any] = {}
        for memory, rows in ((self.inputs, inputs), (self.weights, weights), (self.sums, sums)):
            needed[memory] = needed.get(memory, 0) + rows
        fits: Any = True
        for memory, rows in needed.items():
            fits = fits & (rows <= memory.rows)
        return fits

    def find(self, scope: str) -> Memory | None:
        """The memory of a storage scope, None where the device has none of it."""
        return next((memory for memory in self.all if memory.scope == scope), None)

    def is_of_operands(self, scope: str) -> bool:
        """Whether rows of A or B are in the memory of a storage scope."""
        return scope in (self.inputs.scope, self.weights.scope)
