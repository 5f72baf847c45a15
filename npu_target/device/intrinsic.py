"""The steps of a device: what a call of one reads and writes, how many rows it takes, how long."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from ..codegen.steps import Step
    from ..passes.linear import Linear
    from ..program import Node


class Access(Enum):
    """What a step does with rows of an operand."""

    READ = "reads"
    ADD = "adds to"
    COMBINE = "changes"  # otherwise than by adding: what was there counts
    WRITE = "writes"


class Operand(NamedTuple):
    """Rows of a tile that a call touches, from the row on whose address it gets.

    rows : how many.
    row_step : rows of the tile from one to the next.
    follows : whether there is one for each row of the step, so that the next step's may follow
        them; else they are the same for all of its rows, as a block of weights is.
    """

    access: Access
    rows: int
    row_step: int = 1
    follows: bool = True

    def offsets(self) -> range:
        """The rows, from the first one on."""
        return range(0, self.rows * self.row_step, self.row_step)


class Intrinsic(ABC):
    """A step of a device, made from its config.

    The implementation of its tensor intrinsic is `call_extern(call, addresses..., numbers...)`: the
    address of the first row of each operand, then what tells calls apart, ints.

    call : the name of the extern function.
    n_operands : how many addresses there are.
    multiplies : whether it is `C[i, j] += A[i * row_step, k] * B[k, j]`: the operands are A, B and
        C, the numbers the rows of C and `row_step`.
    keeps_stationary : whether operands that do not follow stay in the device for the next step.
    commands : how many a step is: of the class, or of a device, set when it is made.
    """

    call: ClassVar[str]
    n_operands: ClassVar[int]
    multiplies: ClassVar[bool] = False
    keeps_stationary: ClassVar[bool] = False
    commands: int = 1

    def __init__(self, config: Any) -> None:
        self.config = config

    @abstractmethod
    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        """What a call with these numbers touches."""

    @abstractmethod
    def sizes(self, rows: int) -> list[tuple[int, int]]:
        """How so many rows that follow each other are cut into steps: the rows of each, and how
        many of these there are, in their order."""

    @abstractmethod
    def cycles(self, blocks: int, rows: int, loaded: int) -> float:
        """How long the steps of so many blocks of rows take at least, of which so many need other
        stationary operands than those before."""

    @abstractmethod
    def nodes(
        self, step: Step, row: Linear, rows: int, *, new_stationary: bool, overwrites: bool
    ) -> tuple[Node, ...]:
        """The commands of a step of `rows` rows from `row` on; with other stationary operands than
        the step before, or the same; and writing over what it else adds to, or adding."""
