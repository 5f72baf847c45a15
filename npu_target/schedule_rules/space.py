"""The space that tuning searches: hand-written templates, generated schedules, or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tvm_ffi
from tvm import s_tir
from tvm.ir import IRModule
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.schedule import Trace

from ..device import DeviceConfig, kind_of
from ..topi import Operator
from ..topi.mac_operator import MacOperator
from ..topi.mac_schedule import for_loops, mac_loops, mac_traces, scheduled_mac
from ..topi.mac_structure import MacStructure, tiled_loops
from ..topi.pool_operator import PoolOperator
from .mutators import MoveTileFactor
from .routed import routed_designs
from .rules import mac_structures, schedule_rules

SPACES = ("template", "rules", "both")


def space_generator(
    operator: Operator | Callable[[IRModule], Operator],
    config: DeviceConfig,
    space: str = "both",
    seed: int = 1,
    postprocs: Sequence[ms.postproc.Postproc] = (),
    *,
    routes: bool = False,
) -> ms.space_generator.SpaceGenerator:
    """The design space of one operator with its mutators, or of many.

    Parameters
    ----------
    operator : or what tells it of a module with its definition.
    config : of the device that the definitions are for.
    space : one of :data:`SPACES`.
    seed : of the mutators' random sequence.
    postprocs : what accepts or rejects a candidate.
    routes : whether the device's routes are in the space as well.

    Raises
    ------
    ValueError
        for an unknown space.
    """
    _check_space(space)
    mutators = {MoveTileFactor(seed): 0.6, ms.mutator.MutateTileSize(): 0.4}
    if space == "rules" and isinstance(operator, (MacOperator, PoolOperator)) and not routes:
        return ms.space_generator.PostOrderApply(
            sch_rules=schedule_rules(config, bool(operator.layout_free)),
            postprocs=list(postprocs),
            mutator_probs=mutators,
        )

    def generate(sch: Schedule) -> Sequence[Schedule]:
        found = operator if isinstance(operator, Operator) else operator(sch.mod)
        routed = routed_designs(sch, found, config) if routes else []
        if not kind_of(config).has_schedules:
            return routed
        return [*(design.schedule for design in designs(sch, found, config, space)), *routed]

    return ms.space_generator.ScheduleFn(
        generate, sch_rules=[], postprocs=list(postprocs), mutator_probs=mutators
    )


class Design(NamedTuple):
    """A schedule whose tile sizes are drawn; of a multiply-accumulate, its structure and the loops
    whose tiles are sampled, in the order of the samples."""

    schedule: Schedule
    structure: MacStructure | None = None
    tiled: tuple[str, ...] = ()


def designs(sch: Schedule, operator: Operator, config: DeviceConfig, space: str) -> list[Design]:
    """One schedule for each structure of a space, made of a schedule of the operator's definition,
    which stays as it is.  Where no rule applies to the definition, its templates are the space.

    Raises
    ------
    ValueError
        for an unknown space.
    """
    _check_space(space)
    if isinstance(operator, MacOperator):
        loops, distinct = mac_loops(sch), structures(sch, operator, config, space)
        return [
            Design(schedule, structure, tiled_loops(loops, structure))
            for schedule, structure in zip(scheduled_mac(sch, distinct), distinct, strict=True)
        ]
    generated = _generated(sch, config) if space != "template" else []
    made = []
    if space != "rules" or not generated:
        for template in operator.templates(config):
            made.append(sch.copy())
            template(made[-1])
    return [Design(schedule) for schedule in (*made, *generated)]


class TracedDesign(NamedTuple):
    """A `Design` of which only the schedule's trace is known."""

    trace: Trace
    structure: MacStructure | None = None
    tiled: tuple[str, ...] = ()


def traced_designs(
    sch: Schedule, operator: Operator, config: DeviceConfig, space: str
) -> list[TracedDesign]:
    """The `designs` of whose schedules the traces are enough, which takes a fraction of the time.

    Raises
    ------
    ValueError
        for an unknown space.
    """
    _check_space(space)
    if isinstance(operator, MacOperator):
        loops, distinct = mac_loops(sch), structures(sch, operator, config, space)
        return [
            TracedDesign(trace, structure, tiled_loops(loops, structure))
            for trace, structure in zip(mac_traces(sch, distinct), distinct, strict=True)
        ]
    found = designs(sch, operator, config, space)
    return [TracedDesign(design.schedule.trace) for design in found]


def structures(
    sch: Schedule, operator: MacOperator, config: DeviceConfig, space: str = "both"
) -> list[MacStructure]:
    """The structures of a space on a device, for a schedule of a multiply-accumulate's
    definition."""
    loops = mac_loops(sch)
    found: list[MacStructure] = []
    if space != "rules":
        found += operator.template_structures()
    if space != "template":
        found += mac_structures(loops, bool(operator.layout_free))
    return for_loops(sch, found, config)


def _generated(sch: Schedule, config: DeviceConfig) -> list[Schedule]:
    """What the rules make of a schedule's blocks, nothing where none applies."""
    names: list[str] = []
    tvm_ffi.structural_walk(
        sch.mod["main"].body, (s_tir.SBlock, lambda block: names.append(str(block.name_hint)))
    )
    for rule in schedule_rules(config):
        for name in names:
            results = rule.apply(sch, sch.get_sblock(name))
            if len(results) != 1 or not results[0].same_as(sch):
                return list(results)
    return []


def _check_space(space: str) -> None:
    if space not in SPACES:
        raise ValueError(f"unknown space {space!r}; known: {', '.join(SPACES)}")
