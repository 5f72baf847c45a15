"""What an operator is: its attributes, its arguments, its mathematics, its match.

An operator is a frozen dataclass of plain numbers, so that it can key a task, be written into a
log and be rebuilt from it. All that is told of one is told by its class; see `registry` for how
it is found.
"""

from __future__ import annotations

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import UserError

if TYPE_CHECKING:
    from tvm.s_tir import Schedule
    from tvm.tirx import PrimFunc

    from ..device import DeviceConfig
    from ..device.numbers import Numbers
    from .pattern import Accepted, Match, Spelling

# A scale that no unit treats specially (the device copies with scale 1 faster), used
# where a task must not depend on the scale of the layer that it stands for.
CANONICAL_SCALE = 0.0078125
_FLOAT32_MAX = (2 - 2**-23) * 2.0**127
# Loops and indices of TensorIR are int32.
_INT32_MAX = 2**31 - 1

Arrays = Mapping[str, np.ndarray]
# Schedules a definition in place, tile sizes left open.
Template = Callable[["Schedule"], None]


class OperatorError(UserError, ValueError):
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
    """Base of all operators.  Subclasses are frozen dataclasses."""

    op: ClassVar[str]
    # Whether its ``scale`` may be a tuple of one for each channel.
    channel_scales: ClassVar[bool] = False
    # Attributes that are written down only where they are other than by default.
    seldom: ClassVar[tuple[str, ...]] = ()

    # ---- attributes ----

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

    @property
    def partly_read(self) -> tuple[str, ...]:
        """The inputs of which some elements may not matter, such as what a stride steps over."""
        return ()

    def kernel(self) -> Operator:
        """The operator the device is given: the same bytes in and out, maybe seen in another
        shape that it computes with less waste."""
        return self

    def padded(self, multiple: int) -> Operator:
        """The operator with so many zeros behind its channels that the innermost dimension of each
        argument is a multiple; itself where it cannot be padded.  In the part that is this one's,
        the output is the same."""
        return self

    def attrs(self) -> dict[str, Any]:
        """The attributes as plain JSON values; :func:`npu_target.topi.make` is the way back."""
        attrs = json.loads(json.dumps(dataclasses.asdict(self)))
        for field in dataclasses.fields(self):
            if field.name in self.seldom and getattr(self, field.name) == field.default:
                del attrs[field.name]
        return attrs

    def check_device(self, config: DeviceConfig) -> None:  # noqa: B027  most need nothing more
        """Raise :class:`OperatorError` where a device lacks what the operator needs beside a step
        and memories."""

    def check_room(self, config: DeviceConfig) -> None:  # noqa: B027  of few it is known before
        """Raise :class:`OperatorError` where not even the smallest tiles have room in a device's
        memories."""

    # ---- mathematics, twice ----

    @abstractmethod
    def prim_func(self, config: DeviceConfig) -> PrimFunc:
        """The unscheduled TensorIR of this operator for a device, in the device's blocks.

        Raises
        ------
        OperatorError
            where the device cannot compute it.
        """

    @abstractmethod
    def reference(self, inputs: Arrays, numbers: Numbers) -> np.ndarray:
        """What it computes with a device's numbers, in NumPy: the output's elements in order,
        exactly, and quick enough to be no part of the tuning time."""

    def sample(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Inputs by name for which a wrong program hardly gives the right output."""
        return {
            arg.name: draw(generator, arg, np.iinfo(arg.dtype).max)
            for arg in self.args
            if arg.role == "input"
        }

    # ---- its place in a network ----

    @classmethod
    @abstractmethod
    def spellings(cls, numbers: Numbers) -> Sequence[Spelling]:
        """What it looks like in integer Relax, those first that are asked first. Operators may
        share them."""

    @classmethod
    @abstractmethod
    def accept(cls, match: Match, config: DeviceConfig) -> Accepted | str | None:
        """What a match of one of its spellings becomes on a device, or the reason why the device
        cannot; None for what is another operator's. An OperatorError is a reason, too."""

    # ---- what tests try it with ----

    @classmethod
    @abstractmethod
    def examples(cls, config: DeviceConfig) -> Sequence[Operator]:
        """Some that fit a device's blocks in none or in each of their dimensions, small ones:
        what a device that has the operator must compute."""

    # ---- schedules ----

    @abstractmethod
    def templates(self, config: DeviceConfig) -> list[Template]:
        """What an expert would try on a device, one function for each structure."""


def draw(generator: np.random.Generator, arg: Arg, limit: int) -> np.ndarray:
    """An array for an argument, of values from ``-limit - 1`` to ``limit``."""
    return generator.integers(-limit - 1, limit, arg.shape, np.dtype(arg.dtype), endpoint=True)


def require_finite(owner: str, **scales: float) -> None:
    """Raise :class:`OperatorError` for a scale that float32 does not hold, naming it."""
    for name, scale in scales.items():
        if not abs(scale) <= _FLOAT32_MAX:
            raise OperatorError(f"{owner}: {name} must be finite in float32, got {scale}")


def require_positive(owner: str, **values: int) -> None:
    """Raise :class:`OperatorError` for a value that is no size, naming it."""
    for name, value in values.items():
        if value < 1:
            raise OperatorError(f"{owner}: {name} must be at least 1, got {value}")
        if value > _INT32_MAX:
            raise OperatorError(f"{owner}: {name} must be at most {_INT32_MAX}, got {value}")


def require_countable(operator: Operator) -> None:
    """Raise :class:`OperatorError` for an argument with more elements than indices tell apart."""
    for arg in operator.args:
        if math.prod(arg.shape) > _INT32_MAX:
            shape = "x".join(map(str, arg.shape))
            raise OperatorError(
                f"{operator.op}: {arg.name} would be {shape}, of at most {_INT32_MAX} elements; "
                "make it smaller"
            )
