"""Operators whose sums of products the device's step computes: what their schedules are made of,
and inputs to try them with."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
from tvm.s_tir import Schedule

from ..device import DeviceConfig, kind_of
from .mac_schedule import for_loops, schedule_mac
from .mac_shape import TILED
from .mac_structure import MacStructure, most_kernel_positions, tiled_loops
from .operator import Operator, OperatorError, Template, draw
from .output import Output

if TYPE_CHECKING:
    from .mac_shape import MacShape

Example = TypeVar("Example", bound="MacOperator")

# Standard deviation of requantized results to aim at, so that few of them saturate: a saturated
# element would hide a wrong sum.
_RESULT_DEVIATION = 50.0
_INT8_DEVIATION = 256 / math.sqrt(12)

# Structures worth trying where the whole reduction is loaded at once, ...
WHOLE_DEPTH = tuple(
    replace(structure, wide=wide)
    for structure in (
        MacStructure("weights_kept", kept=True, two_sums=True),
        MacStructure("inputs_kept", kept=True, two_sums=True),
        MacStructure("inputs_kept", kept=True, two_sums=True, step_order="kernel_first"),
        MacStructure("weights_kept", two_sums=True, step_order="kernel_first"),
    )
    for wide in (False, True)
)
# ... and where its channels are loaded in parts.
SPLIT_DEPTH = tuple(
    replace(structure, wide=wide)
    for structure in (
        MacStructure("weights_kept", split_depth=True),
        MacStructure("inputs_kept", split_depth=True, step_order="kernel_first"),
    )
    for wide in (False, True)
)


def check_step(op: str, config: DeviceConfig) -> None:
    """Raise :class:`OperatorError` where no step of a device multiplies, as schedules of the
    operator of this name need, and no route of the device's may take their place."""
    kind = kind_of(config)
    if kind.has_schedules and kind.features(config).step is None and not kind.routes(config):
        raise OperatorError(
            f"{op} is computed by a step that multiplies, and {config.name} has none: its kind "
            "names one by Features(step=MultiplyStep(...))"
        )


@dataclass(frozen=True)
class MacOperator(Operator):
    """Base of operators with a block ``mac`` in their definition (see `mac_schedule`)."""

    # Arguments whose values are drawn such that the results are spread over int8.
    weights: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def output(self) -> Output:
        """How its sums are stored."""

    @abstractmethod
    def mac_shape(self, config: DeviceConfig) -> MacShape:
        """The loops of its definition and what they walk, as the cost of tiles needs it."""

    @property
    @abstractmethod
    def structures(self) -> tuple[MacStructure, ...]:
        """Those of its templates, weights as they lie."""

    @property
    def terms(self) -> int:
        """Products that are added up for an element."""
        return 1

    def check_device(self, config: DeviceConfig) -> None:
        check_step(self.op, config)
        self.output.check_device(config)

    def check_room(self, config: DeviceConfig) -> None:
        shape, memories = self.mac_shape(config), config.memories
        extents, most = {name: shape.extent(name) for name in TILED}, most_kernel_positions(config)
        for one in self.structures:
            structure = one.unmarked.fitted(extents, may_be_wide=False, most_positions=most)
            tiled = tiled_loops(TILED, structure)
            tile = {name: 1 if name in tiled else extent for name, extent in extents.items()}
            if shape.fits(structure, tile, config):
                return
        raise OperatorError(
            f"not even a tile of one step has room in the memories of {config.name}: it needs "
            f"{shape.a_rows(tile)} rows of inputs, {shape.b_rows(tile)} of weights and "
            f"{shape.c_rows(tile)} of sums, they have "
            f"{memories.inputs.rows}, {memories.weights.rows} and {memories.sums.rows}"
        )

    def template_structures(self) -> tuple[MacStructure, ...]:
        """Those of its templates, with packed weights as well where these may be."""
        if not self.layout_free:
            return self.structures
        packed = (replace(structure, packed=True) for structure in self.structures)
        return (*self.structures, *packed)

    def templates(self, config: DeviceConfig) -> list[Template]:
        return [partial(_schedule, structure, config) for structure in self.template_structures()]

    def sample(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Activations cover all of int8. Weights and bias are scaled so that results mostly stay
        within int8 after requantization."""
        return {
            arg.name: draw(generator, arg, self.amplitude(arg.name))
            for arg in self.args
            if arg.role == "input"
        }

    def amplitude(self, name: str) -> int:
        """The largest value to draw for an argument."""
        if self.output.sums:
            return 2**30 if name == "bias" else 127
        sums = _RESULT_DEVIATION / float(np.median(np.abs(self.output.scales)))
        if name == "bias":
            return int(min(sums, 2**30))
        if name not in self.weights:
            return 127
        deviation = sums / (_INT8_DEVIATION * math.sqrt(self.terms))
        return int(min(127, max(1, round(deviation * math.sqrt(3)))))


def _schedule(structure: MacStructure, config: DeviceConfig, sch: Schedule) -> None:
    (taken,) = for_loops(sch, [structure], config)
    schedule_mac(sch, taken)


def wrapped_sums(exact: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """Integers in float64 or int64, with a bias, as the int32 that a device's sums hold.

    float64 holds every partial sum of int8 products exactly, and its matrix products are quick.
    """
    total = exact.astype(np.int64)
    if bias is not None:
        total = total + bias
    return total.astype(np.int32)


def with_sums(config: DeviceConfig, *examples: Example) -> tuple[Example, ...]:
    """The examples with their sums as output, where a device stores such; else none."""
    made = tuple(replace(example, sums=True) for example in examples)  # type: ignore[call-arg]
    return made if kind_of(config).features(config).stores_sums else ()
