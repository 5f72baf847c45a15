"""Operators that a device computes without a schedule: by a job of its own, or as its vendor's
library does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ..packing import Packing
    from ..program import Node
    from ..topi import Operator

# An annotation of a definition's root block: the name of the route that computes it.
ROUTE = "npu.route"
_AS_THEY_ARE: Mapping[str, Packing] = MappingProxyType({})


class Route(ABC):
    """One way to have whole operators computed: commands whose fields tell the device its job, or
    those that a library issues.

    name : in logs and tables.
    config : of the device.
    """

    name: ClassVar[str]

    def __init__(self, config: Any) -> None:
        self.config = config

    @abstractmethod
    def refusal(self, operator: Operator) -> str | None:
        """Why it does not serve an operator; None where it does."""

    @abstractmethod
    def nodes(self, operator: Operator) -> Iterable[Node]:
        """The commands that compute an operator which it serves, scales and activation included.
        Argument `i` of the program is `operator.args[i]`.

        Raises IsaError where a command has no room for a number.
        """

    def packings(self, operator: Operator) -> Mapping[str, Packing]:
        """The layouts of the constant weights that it does not take as they are, by name; each has
        to be `layout_free`."""
        return _AS_THEY_ARE
