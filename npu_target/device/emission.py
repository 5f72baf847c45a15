"""A device's part of the compilation of one program: what its engines do, and in which order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tvm import tirx

    from ..codegen.operations import CopyOperation, Engine, LoopIds
    from ..codegen.placed import Placed
    from ..codegen.steps import Step
    from ..passes.copies import Load, Store
    from ..passes.transfers import Transfer
    from ..program import Constant, Node

Made = TypeVar("Made")


class Emission(ABC):
    """Makes operations of the copies and steps of a program, and knows what the device holds
    meanwhile.

    The top level of a program is walked as a whole, or, where that needs more settings than the
    device holds at once, in phases, one for each of its statements.  A walk may be repeated; only
    what the last one asked for counts.

    config : of the device.
    arguments : the names of the program's.
    ids : of the program's loops.
    func : the lowered function.
    """

    def __init__(
        self, config: Any, arguments: Sequence[str], ids: LoopIds, func: tirx.PrimFunc
    ) -> None:
        self.config = config
        self.arguments = {name: index for index, name in enumerate(arguments)}
        self.ids = ids

    @property
    @abstractmethod
    def queue_entries(self) -> Mapping[Engine, int]:
        """Commands that the queue of each engine of copies holds: one more blocks the host."""

    @property
    def store_latency_cycles(self) -> float:
        """About how long after a step a store of its sums is done, beside the time that the store
        keeps its engine.  Loads of the rows that it leaves are put off by it where they would else
        fill their queue."""
        return 0.0

    @abstractmethod
    def copies(self, copy: Load | Store, transfer: Transfer) -> list[CopyOperation]:
        """The operations of a copy whose axes are chosen, to be issued in this order.

        Raises CodegenError for one that the device has no commands for.
        """

    def before_steps(self, step: Step) -> tuple[Node, ...]:
        """The commands that have to come right before a nest of such steps: settings that their
        phase has no room for."""
        return ()

    def whole(self, make: Callable[[], Made]) -> tuple[tuple[Node, ...], Made] | None:
        """The commands at the start of a program, and what `make` made of it; None where it is to
        be made in phases."""
        return (), make()

    def phase(self, make: Callable[[], Made]) -> tuple[tuple[Node, ...], Made]:
        """The commands at the start of a phase, and what `make` made of it, which may be called
        more than once."""
        return (), make()

    def synchronized(self, placed: Sequence[Placed]) -> Sequence[Placed]:
        """A whole program, or a phase, whose copies and steps are placed, with what makes engines
        wait for each other: commands between them, or others in their place.

        Each copy and step has its engine and the tiles that it touches; which of them depend on
        each other, :func:`npu_target.codegen.dependences.conflict` tells.  A program stays as it is
        on a device that makes its commands wait by itself.
        """
        return placed

    @property
    def constants(self) -> tuple[Constant, ...]:
        """What the program's commands read that is its own, as it is once all of it is
        synchronized; their addresses are those of arguments behind the others."""
        return ()
