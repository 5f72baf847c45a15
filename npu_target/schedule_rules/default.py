"""The schedule of an operator that was never tuned: the cheapest of a few that are promising.

What a schedule costs is computed from the device's config, twice: about, from its tile sizes, for
all of the space; exactly, by compiling it and counting its program's cycles, for the few that the
former picks.  Of an operator that is no multiply-accumulate and no pool nothing is known but its
templates, whose candidates' cycles are counted.  Nothing is drawn at random: equal operators get
equal schedules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np
from tvm.s_tir import Schedule
from tvm.tirx import PrimFunc

from ..codegen_tir import CodegenError, build_program
from ..device import DeviceConfig, kind_of
from ..device.error_text import device_error_in
from ..device_api import program_cycles
from ..topi import Operator
from ..topi.definition import definition
from ..topi.mac_operator import MacOperator
from ..topi.mac_shape import MacShape
from ..topi.mac_structure import KERNEL_LOOPS, STEP_ORDERS, MacStructure
from ..topi.pool_operator import PoolOperator
from ..topi.routed import routes_of, take_route, unserved
from .cheapest import cheapest
from .choice import Choice, RouteTaken
from .host_bounds import ranked_cycles
from .space import structures
from .template_tilings import TemplateTiling, cheapest_of_templates
from .tilings import Tiling, mac_tilings, pool_tilings

_Key = tuple[Operator, MacShape | None, DeviceConfig]
# What was chosen in this process, by what schedules see of an operator.
_chosen: dict[_Key, Choice] = {}


def default_schedule(
    operator: Operator, config: DeviceConfig, func: PrimFunc | None = None
) -> Schedule:
    """Schedule ``operator`` without measuring; equal operators get equal schedules.

    The first of a process takes about a second on one core, others like it next to nothing.  An
    operator that does not fit the device gets a schedule that the compiler refuses.  On a device
    that runs no schedules it gets the route that takes the fewest cycles.

    ``func``: its `definition` where that was made already.

    Raises
    ------
    ValueError
        for an operator without templates, or in which anything but sizes of tiles is open.
    CodegenError
        where a device that runs no schedules has no route for it.
    RuntimeError
        where the device's simulator fails, or refuses all programs that are tried but for races.
    """
    sch = Schedule(definition(operator, config) if func is None else func, seed=1)
    key = _key(operator, config)
    if key not in _chosen:
        # By a copy: what is asked of a schedule stays in its trace.
        _chosen[key] = _choose(sch.copy(), operator, key[1], config)
    _chosen[key].apply(sch, config)
    return sch


def default_choice(
    operator: Operator, config: DeviceConfig, func: PrimFunc | None = None
) -> Choice:
    """What `default_schedule` takes, for another process to remember. Raises as that does."""
    if not knows_default(operator, config):
        default_schedule(operator, config, func)
    return _chosen[_key(operator, config)]


def knows_default(operator: Operator, config: DeviceConfig) -> bool:
    """Whether `default_schedule` answers at once."""
    return _key(operator, config) in _chosen


def remember_default(operator: Operator, config: DeviceConfig, choice: Choice) -> None:
    """Have `default_schedule` take what another process chose for the same operator."""
    _chosen.setdefault(_key(operator, config), choice)


def _key(operator: Operator, config: DeviceConfig) -> _Key:
    shape = None
    if isinstance(operator, MacOperator) and kind_of(config).has_schedules:
        shape = operator.mac_shape(config).canonical
    return operator.canonical(), shape, config


def _fastest_route(operator: Operator, config: DeviceConfig) -> str:
    names = routes_of(operator, config)
    if not names:
        raise CodegenError(f"{operator.name}: {unserved(operator, config)}")

    def cycles(name: str) -> int:
        sch = Schedule(definition(operator, config))
        take_route(sch, name)
        program = build_program(sch.mod["main"], config, operator.name)
        return program_cycles(program.to_bytes()) or 0

    return names[0] if len(names) == 1 else min(names, key=cycles)


class _Candidates:
    """Counts the cycles of candidates, and keeps why the device ran none if it runs none."""

    def __init__(self, sch: Schedule, operator: Operator, config: DeviceConfig) -> None:
        self._sch, self._operator, self._config = sch, operator, config
        self._has_run = False
        self._refusal: RuntimeError | None = None

    def cycles(self, tiling: Tiling | TemplateTiling) -> float | None:
        """Those of a tiling, as they are ranked; None where it cannot be used."""
        candidate = self._sch.copy()
        tiling.apply(candidate, self._config)
        try:
            program = build_program(candidate.mod["main"], self._config, self._operator.name)
        except CodegenError:
            return None
        try:
            found = ranked_cycles(program.to_bytes())
        except RuntimeError as error:
            refusal = device_error_in(str(error))
            if refusal is None:  # the simulator itself fails
                raise
            if refusal.kind != "race":
                self._refusal = error
            return None
        self._has_run = True
        return found

    def check(self) -> None:
        """Raise what the device refused a program with, where it ran no other one."""
        if self._refusal is not None and not self._has_run:
            raise self._refusal


def _choose(
    sch: Schedule, operator: Operator, shape: MacShape | None, config: DeviceConfig
) -> Choice:
    if not kind_of(config).has_schedules:
        return RouteTaken(_fastest_route(operator, config))
    candidates = _Candidates(sch, operator, config)
    choice = _cheapest(sch, operator, shape, config, candidates.cycles)
    candidates.check()
    return choice


def _cheapest(
    sch: Schedule,
    operator: Operator,
    shape: MacShape | None,
    config: DeviceConfig,
    cycles: Callable[[Tiling | TemplateTiling], float | None],
) -> Tiling | TemplateTiling:
    if isinstance(operator, MacOperator):
        assert shape is not None
        tilings = mac_tilings(sch, operator, shape, config)
    elif isinstance(operator, PoolOperator):
        tilings = pool_tilings(operator, operator.pool_shape(config), config)
    else:
        return cheapest_of_templates(sch, operator, config, cycles)

    @cache
    def cost(index: int, packed: bool) -> float | None:
        return cycles(_with_packed(tilings[index], packed))

    may_pack = bool(operator.layout_free)
    first = int(np.argmin(tilings.estimates))
    packed = may_pack and (not _may_lose_packed(shape) or _is_packed_better(partial(cost, first)))
    costs, looks = partial(cost, packed=packed), kind_of(config).cost.looks
    best = cheapest(tilings.estimates, tilings.positions, costs, looks)
    if best is None:
        return tilings[0]
    chosen, least = _with_packed(tilings[best], packed), costs(best)

    def look(**traits: Any) -> None:
        nonlocal chosen, least
        other = chosen.with_structure(**traits)
        found = cycles(other)
        if found is not None and least is not None and found < least:
            chosen, least = other, found

    def look_at_orders(structure: MacStructure) -> None:
        for order in sorted(STEP_ORDERS.keys() - {structure.step_order}):
            look(step_order=order)

    if isinstance(chosen.structure, MacStructure) and chosen.structure.pipelined:
        assert isinstance(operator, MacOperator)
        if may_pack:
            look(packed=not packed)
        look_at_orders(chosen.structure)
        if chosen.structure.may_be_halved:
            look(halved=True)
        look(ends=True)
        if any(structure.in_order for structure in structures(sch, operator, config)):
            look(in_order=True, halved=False, ends=False)
        if chosen.structure.in_order:  # that order was the best beside the next tile's copies
            look_at_orders(chosen.structure)
    return chosen


def _with_packed(tiling: Tiling, packed: bool) -> Tiling:
    """The same with packed weights or not: what is not pipelined has none in the space."""
    structure = tiling.structure
    may_pack = isinstance(structure, MacStructure) and structure.pipelined
    return tiling.with_structure(packed=packed and may_pack)


def _may_lose_packed(shape: MacShape | None) -> bool:
    """Whether packed weights may take longer: blocks that are not full are rounded up, and loaded
    so; and the first ones of a depthwise convolution come later than its steps need them."""
    if shape is None or shape.depthwise:
        return True
    full_blocks = prod([shape.extent(name) for name in (*KERNEL_LOOPS, "depth", "blocks")])
    return shape.weights.elements < full_blocks * shape.dim**2


def _is_packed_better(cost: Callable[[bool], float | None]) -> bool:
    """Whether packed weights take no more cycles than those that lie as the definition has them;
    ``cost`` is that of the tiles that promise most, packed or not."""
    packed, as_defined = cost(True), cost(False)
    return as_defined is None or (packed is not None and packed <= as_defined)
