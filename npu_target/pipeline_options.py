"""Which of the compiler's optimizations are on: pipelines by name, and single ones on top.

    O0                  none: commands in the order of the statements, and no rewriting
    O1                  those that change no order: fewer commands, fewer instructions of the host
    O2                  all; the default
    O0,+overlap         a name, then what is switched on or off
    O2,-unrolling

What a program computes is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from .errors import UserError


class PipelineError(UserError, ValueError):
    """A pipeline that is none, saying which there are."""


@dataclass(frozen=True)
class PipelineOptions:
    """The optimizations, in the order in which the compiler comes to them.

    prefetching : a loop that the schedule marks so loads the next tile while one is computed
        (TVM's software pipeline); else each tile is loaded when its iteration begins.
    overwriting : the first steps of a reduction write over what the sums were, instead of adding
        to zeros that are written before.
    coalescing : steps whose rows follow each other become one, as few as can be; else they are
        those of the definition.
    overlap : copies are issued beside the steps before or after, as far as these do not depend on
        them, in loops with a prologue and an epilogue; else where their statements stand.
    interleaving : those copies are interleaved with the steps; else they come before or behind all
        of them. Does nothing without `overlap`.
    conditions : conditions that loops decide are left out, neighbours share one.
    rolling : parts of the program that repeat themselves become loops.
    splitting : loops are cut where a condition in them changes, if that pays.
    unrolling : short loops are unrolled.
    hoisting : what an inner loop does not change is added up outside of it.
    sums : a sum that several operands have is made once.
    budget : where the host still has more instructions a command than it has time for, more loops
        are cut, or fewer unrolled. Of `splitting` and `unrolling`, what is on.
    """

    prefetching: bool = True
    overwriting: bool = True
    coalescing: bool = True
    overlap: bool = True
    interleaving: bool = True
    conditions: bool = True
    rolling: bool = True
    splitting: bool = True
    unrolling: bool = True
    hoisting: bool = True
    sums: bool = True
    budget: bool = True

    @classmethod
    def only(cls, names: Iterable[str]) -> PipelineOptions:
        """These optimizations and no others."""
        return cls(**(dict.fromkeys(flags(), False) | dict.fromkeys(names, True)))

    @classmethod
    def parse(cls, text: str) -> PipelineOptions:
        """What `str` gives, and what the command lines take: a name, then `+flag` and `-flag`.

        Raises PipelineError.
        """
        name, *changes = (part.strip() for part in text.split(","))
        if name not in PIPELINES:
            raise PipelineError(
                f"pipeline {text!r}: begins with none of the names {', '.join(PIPELINES)}"
            )
        switched = {}
        for change in changes:
            sign, flag = change[:1], change[1:]
            if sign not in ("+", "-") or flag not in flags():
                raise PipelineError(
                    f"pipeline {text!r}: {change!r} is no + or - with one of {', '.join(flags())}"
                )
            switched[flag] = sign == "+"
        return replace(PIPELINES[name], **switched)

    def __str__(self) -> str:
        for name, options in PIPELINES.items():
            if options == self:
                return name
        on = [flag for flag in flags() if getattr(self, flag)]
        off = [flag for flag in flags() if flag not in on]
        if len(off) < len(on):
            return ",".join(["O2", *(f"-{flag}" for flag in off)])
        return ",".join(["O0", *(f"+{flag}" for flag in on)])


def flags() -> tuple[str, ...]:
    """The names of the optimizations."""
    return tuple(field.name for field in fields(PipelineOptions))


_REORDERING = ("prefetching", "overlap", "interleaving")
O0 = PipelineOptions.only(())
O1 = PipelineOptions.only(flag for flag in flags() if flag not in _REORDERING)
O2 = PipelineOptions()
PIPELINES = {"O0": O0, "O1": O1, "O2": O2}
DEFAULT = O2
