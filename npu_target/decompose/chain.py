"""What follows an operation element by element: its bias, its requantization, its activation.

Where an operation becomes several, or gives its elements in another order, these go before the
elements are put in order, so that a device still computes them with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import relax

from ..relax_graph import Graph, constant_of, is_tensor, op_name, shape_of, vars_in

_ELEMENTWISE = frozenset(
    {
        "relax.add",
        "relax.astype",
        "relax.clip",
        "relax.left_shift",
        "relax.maximum",
        "relax.minimum",
        "relax.multiply",
        "relax.nn.relu",
        "relax.right_shift",
        "relax.round",
        "relax.subtract",
    }
)


@dataclass(frozen=True)
class Chain:
    """Operations on one value after the other, with constants that are one number or one a
    channel beside it; each but the last has no other user."""

    graph: Graph
    start: relax.Var
    links: tuple[relax.Var, ...]
    channel_axis: int

    @classmethod
    def after(cls, graph: Graph, start: relax.Var, channel_axis: int) -> Chain:
        """The longest behind ``start``."""
        links: list[relax.Var] = []
        last = start
        while True:
            user = graph.sole_user(last)
            if user is None or not _is_link(graph, user, last, channel_axis):
                return cls(graph, start, tuple(links), channel_axis)
            links.append(user)
            last = user

    @property
    def root(self) -> relax.Var:
        """Where it ends: ``start`` where nothing follows."""
        return self.links[-1] if self.links else self.start

    @property
    def interior(self) -> frozenset[relax.Var]:
        """All of its variables and ``start``."""
        return frozenset((self.start, *self.links))

    def emit(
        self,
        builder: relax.BlockBuilder,
        value: relax.Expr,
        channels: Callable[[np.ndarray], np.ndarray] = lambda values: values,
    ) -> relax.Expr:
        """The operations on another value, whose channels are its last axis. ``channels`` gives
        those numbers that it needs of one number for each channel."""
        before = self.start
        for link in self.links:
            call = self.graph.value[link]
            arguments = [
                value if argument.same_as(before) else self._constant(argument, channels)
                for argument in call.args
            ]
            value = builder.emit(
                relax.Call(call.op, arguments, call.attrs, call.ty_args), link.name
            )
            before = link
        return value

    def _constant(
        self, argument: relax.Expr, channels: Callable[[np.ndarray], np.ndarray]
    ) -> relax.Expr:
        values = constant_of(argument)
        if values is None or values.size == 1:
            return argument if values is None else relax.const(values.reshape(()))
        return relax.const(np.ascontiguousarray(channels(values.reshape(-1))))


def _is_link(graph: Graph, link: relax.Var, value: relax.Var, channel_axis: int) -> bool:
    call, shape = graph.value[link], shape_of(value)
    if op_name(call) not in _ELEMENTWISE or list(vars_in(call)) != [value]:
        return False
    if not is_tensor(link) or shape_of(link) != shape:
        return False
    constants = (constant_of(argument) for argument in call.args)
    return all(_is_per_channel(c, shape, channel_axis) for c in constants if c is not None)


def _is_per_channel(values: np.ndarray, shape: tuple[int, ...], channel_axis: int) -> bool:
    full = (1,) * (len(shape) - values.ndim) + values.shape
    if values.size == 1:
        return True
    return values.size == shape[channel_axis] == full[channel_axis]
