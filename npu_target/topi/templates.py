"""Templates: for each definition, the few structures worth searching, tile sizes left open.

A template is what an expert writes by hand; :mod:`npu_target.schedule_rules` generates a wider
space from the definition itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tvm.s_tir import Schedule

from .add import Add
from .conv2d import Conv2d
from .depthwise import DepthwiseConv2d
from .mac_schedule import STEP_ORDERS, MacStructure, for_loops, schedule_mac
from .matmul import Matmul
from .operator import Operator
from .pool import GlobalAvgPool, MaxPool2d
from .simple_schedule import schedule_pool

Template = Callable[[Schedule], None]

_WHOLE_DEPTH = tuple(
    replace(structure, wide=wide)
    for structure in (
        MacStructure("weights_kept", kept=True, two_sums=True),
        MacStructure("inputs_kept", kept=True, two_sums=True),
        MacStructure("inputs_kept", kept=True, two_sums=True, step_order="kernel_first"),
        MacStructure("weights_kept", two_sums=True, step_order="kernel_first"),
    )
    for wide in (False, True)
)
_SPLIT_DEPTH = tuple(
    replace(structure, wide=wide)
    for structure in (
        MacStructure("weights_kept", split_depth=True),
        MacStructure("inputs_kept", split_depth=True, step_order="kernel_first"),
    )
    for wide in (False, True)
)
# Nothing is used twice but the multipliers, which stay.
_SUMS_OF_TWO = tuple(
    MacStructure(
        kept=True, step_order="kernel_first", pipelined=pipelined, two_sums=pipelined, wide=wide
    )
    for pipelined in (True, False)
    for wide in (False, True)
)
_SUMS_OF_PIXELS = (
    *(
        MacStructure("inputs_kept", kept=True, two_sums=two, step_order=order)
        for two in (False, True)
        for order in STEP_ORDERS
    ),
    MacStructure("inputs_kept", split_depth=True),
    MacStructure("inputs_kept", kept=True, pipelined=False),
)
_STRUCTURES: dict[type[Operator], tuple[MacStructure, ...]] = {
    Conv2d: (*_WHOLE_DEPTH, *_SPLIT_DEPTH),
    Matmul: (*_WHOLE_DEPTH, *_SPLIT_DEPTH),
    DepthwiseConv2d: _WHOLE_DEPTH,
    Add: _SUMS_OF_TWO,
    GlobalAvgPool: _SUMS_OF_PIXELS,
}


def mac_templates(operator: Operator) -> tuple[MacStructure, ...]:
    """The structures of an operator's templates; none where it multiplies nothing."""
    structures = _STRUCTURES.get(type(operator), ())
    if isinstance(operator, Conv2d) and operator.windows:
        structures = _WHOLE_DEPTH  # there is little of it
    if not operator.layout_free:
        return structures
    return (*structures, *(replace(structure, packed=True) for structure in structures))


def templates(operator: Operator) -> list[Template]:
    """Functions that each schedule the operator's definition with one structure.

    Raises
    ------
    TypeError
        for an operator that has none.
    """
    kind = type(operator)
    structures = mac_templates(operator)
    if structures:
        return [partial(_schedule_mac, structure) for structure in structures]
    if kind is not MaxPool2d:
        raise TypeError(f"{operator.name}: no template for {kind.__name__}")
    return [partial(schedule_pool, pipelined=pipelined) for pipelined in (True, False)]


def _schedule_mac(structure: MacStructure, sch: Schedule) -> None:
    schedule_mac(sch, for_loops(sch, structure))
