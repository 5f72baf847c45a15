"""What was decided for a layer, and of what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tvm import relax
from tvm.ir import IRModule

from ..device.requantize import RequantizeRule
from ..integer import IntegerOperation
from ..relax_graph import Graph
from .forms import Form


@dataclass(frozen=True)
class Network:
    """A network in integer form and the rule of the device that it is for.

    zero_points : of ``main``'s parameters, by their names.
    scaled_channels : of how many channels each block is that can have a scale of its own; None
        where the device has one for all.
    """

    mod: IRModule
    rule: RequantizeRule
    zero_points: Mapping[str, int] = field(default_factory=dict)
    scaled_channels: int | None = None

    @cached_property
    def graph(self) -> Graph:
        """Its function ``main``."""
        return Graph(self.mod)


class Named(NamedTuple):
    """A named operation of a network, and the variables or constants that it is of."""

    var: relax.Var
    operation: IntegerOperation
    inputs: tuple[relax.Expr, ...]


@dataclass(frozen=True)
class Candidate:
    """A form that a device has for a named operation.

    is_exact : whether its results are the operation's, whatever the network is given.
    text : what it does, in a few words. why : on what grounds, or what it costs.
    """

    form: Form
    is_exact: bool
    text: str
    why: str


@dataclass(frozen=True)
class Layer:
    """A layer of a network, named by the variable of its result.

    op : the named operation, such as ``requantize``, or the product, such as ``conv2d``.
    is_on_device : whether it is spelled as the device computes it.
    is_exact : whether its results are the network's own, given the network's own inputs to it.
    form : what computes it, in a few words. why : the reason.
    remark : what another form would cost, if that is why it has not got it.
    """

    name: str
    op: str
    is_on_device: bool
    is_exact: bool
    form: str
    why: str
    remark: str = ""

    @property
    def reason(self) -> str:
        """All that there is to say."""
        return f"{self.why}; {self.remark}" if self.remark else self.why

    @property
    def where(self) -> str:
        """``"device"`` or ``"host"``."""
        return "device" if self.is_on_device else "host"
