"""The space that tuning searches: hand-written templates, generated schedules, or both."""

from __future__ import annotations

from collections.abc import Sequence

import tvm_ffi
from tvm import s_tir
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from ..topi import Operator
from ..topi.templates import templates
from .mutators import MoveTileFactor
from .rules import schedule_rules

SPACES = ("template", "rules", "both")


def space_generator(
    operator: Operator,
    space: str = "both",
    seed: int = 1,
    postprocs: Sequence[ms.postproc.Postproc] = (),
) -> ms.space_generator.SpaceGenerator:
    """The design space of one operator with its mutators.

    Parameters
    ----------
    space : one of :data:`SPACES`.
    seed : of the mutators' random sequence.
    postprocs : what accepts or rejects a candidate, such as a trial compilation.

    Raises
    ------
    ValueError
        for an unknown space.
    """
    if space not in SPACES:
        raise ValueError(f"unknown space {space!r}; known: {', '.join(SPACES)}")
    mutators = {MoveTileFactor(seed): 0.6, ms.mutator.MutateTileSize(): 0.4}
    if space == "rules":
        return ms.space_generator.PostOrderApply(
            sch_rules=schedule_rules(), postprocs=list(postprocs), mutator_probs=mutators
        )

    def generate(sch: Schedule) -> Sequence[Schedule]:
        spaces = []
        for template in templates(operator):
            candidate = sch.copy()
            template(candidate)
            spaces.append(candidate)
        if space == "both":
            spaces += _generated(sch)
        return spaces

    return ms.space_generator.ScheduleFn(
        generate, sch_rules=[], postprocs=list(postprocs), mutator_probs=mutators
    )


def _generated(sch: Schedule) -> list[Schedule]:
    """What the rules make of a schedule's blocks."""
    names: list[str] = []
    tvm_ffi.structural_walk(
        sch.mod["main"].body, (s_tir.SBlock, lambda block: names.append(str(block.name_hint)))
    )
    for rule in schedule_rules():
        for name in names:
            results = rule.apply(sch, sch.get_sblock(name))
            if len(results) != 1 or not results[0].same_as(sch):
                return list(results)
    raise ValueError(f"no rule applies to blocks {', '.join(names)}")
