"""What is wrong with a function that cannot be compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tvm import tirx

from ..errors import UserError


class CodegenError(UserError, ValueError):
    """A function that the device does not perform: a statement that no command computes, a tile
    in no memory of its own, a feature that it was built without.

    ``at`` is the statement that is wrong, or the name of the tile: of which block it is, is told
    where the schedule is at hand (:mod:`npu_target.passes.named`).
    """

    def __init__(self, text: str, at: tirx.Stmt | str | None = None) -> None:
        super().__init__(text)
        self.at = at


@contextmanager
def about(stmt: tirx.Stmt) -> Iterator[None]:
    """Errors inside of it that do not say what they are about are about this statement."""
    try:
        yield
    except CodegenError as error:
        if error.at is None:
            error.at = stmt
        raise


class DoesNotFit(CodegenError):
    """A schedule whose tiles exceed a memory of the device."""
