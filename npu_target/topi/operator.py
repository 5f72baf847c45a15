"""What every compute definition shares: its attributes, its arguments, its name.

An operator is a frozen dataclass of plain numbers, so that it can key a task, be
written into a log and be rebuilt from it.  Its TensorIR is made by
:meth:`Operator.prim_func`, with the hardware's block sizes taken from the config.
"""

from __future__ import annotations

import dataclasses
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tvm.tirx import PrimFunc

    from ..device import DeviceConfig

# A scale that no unit treats specially (the device copies with scale 1 faster), used
# where a task must not depend on the scale of the layer that it stands for.
CANONICAL_SCALE = 0.0078125
_FLOAT32_MAX = (2 - 2**-23) * 2.0**127


class OperatorError(ValueError):
    """An operator whose attributes make no sense or that the device cannot compute."""


@dataclass(frozen=True)
class Arg:
    """One kernel argument: ``role`` is ``"input"`` or ``"output"``."""

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Operator(ABC):
    """Base of all compute definitions.  Subclasses are frozen dataclasses."""

    op: ClassVar[str]

    @property
    @abstractmethod
    def args(self) -> tuple[Arg, ...]:
        """Kernel arguments in call order, the output last."""

    @property
    @abstractmethod
    def macs(self) -> int:
        """Multiply-accumulates of one run (0 for operators that multiply nothing)."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A short name that says the shape, unique among canonical operators of a network."""

    @abstractmethod
    def canonical(self) -> Operator:
        """The operator that stands for all those which the same schedule serves equally:
        scales and activations do not change the time a schedule takes."""

    @property
    def layout_free(self) -> tuple[str, ...]:
        """The weights whose layout a schedule may choose: constants of a network."""
        return ()

    def kernel(self) -> Operator:
        """The operator the device is given: the same bytes in and out, maybe seen in another
        shape that it computes with less waste."""
        return self

    @abstractmethod
    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        """The unscheduled TensorIR of this operator for a device."""

    def attrs(self) -> dict[str, Any]:
        """The attributes as plain JSON values; :func:`npu_target.topi.make` is the way back."""
        return json.loads(json.dumps(dataclasses.asdict(self)))


def require_finite(owner: str, **scales: float) -> None:
    """Raise :class:`OperatorError` for a scale that float32 does not hold, naming it."""
    for name, scale in scales.items():
        if not abs(scale) <= _FLOAT32_MAX:
            raise OperatorError(f"{owner}: {name} must be finite in float32, got {scale}")


def require_positive(owner: str, **values: int) -> None:
    """Raise :class:`OperatorError` for a value below 1, naming it."""
    for name, value in values.items():
        if value < 1:
            raise OperatorError(f"{owner}: {name} must be at least 1, got {value}")
