"""The steps of GEMM and ALU commands: what a call touches, and how many rows are a command."""

from __future__ import annotations

from abc import abstractmethod

from ...codegen.steps import Step
from ...device.intrinsic import Access, Intrinsic, Operand
from ...passes.linear import Linear
from ...program import Command, Node
from ...program import Operand as Word
from .config import VtaConfig
from .copies import FIRST_MICRO_OP, reset, rows_command
from .features import FILL_CALL, GEMM_CALL, MAX_CALL
from .isa import ADD, MAX, Alu, Gemm
from .micro_ops import Rows

# Of the field that counts a command's turns.
_MOST_ROWS = (1 << 14) - 1
# A command beside its steps: see `simulator/timing.cc`.
_COMMAND_CYCLES = 7


class VtaStep(Intrinsic):
    """A step for each row, by a micro-op of which a program keeps a table: see
    `npu_target.devices.vta.emission`."""

    config: VtaConfig

    @property
    def most_rows(self) -> int:
        return _MOST_ROWS

    def sizes(self, rows: int) -> list[tuple[int, int]]:
        whole, rest = divmod(rows, _MOST_ROWS)
        return [(_MOST_ROWS, whole)] * (whole > 0) + [(rest, 1)] * (rest > 0)

    def cycles(self, blocks: int, rows: int, loaded: int) -> int:
        return blocks * (rows + _COMMAND_CYCLES)

    def nodes(
        self,
        step: Step,
        row: Linear,
        rows: int,
        *,
        new_stationary: bool,
        overwrites: bool,
        micro_op: Word = FIRST_MICRO_OP,
    ) -> tuple[Node, ...]:
        commands = self.commands_of(step, rows, micro_op)
        return (reset(micro_op, rows), *commands) if overwrites else commands

    @abstractmethod
    def rows_of(self, step: Step, row: Linear) -> Rows:
        """The rows that the micro-op of a command names, whose rows are those from `row` on."""

    @abstractmethod
    def commands_of(self, step: Step, rows: int, micro_op: Word) -> tuple[Command, ...]:
        """The commands of so many rows, with the index of their micro-op."""


class MultiplyRows(VtaStep):
    """`C[i, j] += A[i * row_step, k] * B[k, j]`, B a row of the weight buffer."""

    call = GEMM_CALL
    n_operands = 3
    multiplies = True

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        rows, row_step = numbers
        return (
            Operand(Access.READ, rows, row_step),
            Operand(Access.READ, self.config.dim, follows=False),
            Operand(Access.ADD, rows),
        )

    def rows_of(self, step: Step, row: Linear) -> Rows:
        a, b, c = step.first_rows
        return Rows(c + row, a + row * step.operands[0].row_step, b, self.config.dim)

    def commands_of(self, step: Step, rows: int, micro_op: Word) -> tuple[Command, ...]:
        row_step = step.operands[0].row_step if rows > 1 else 0
        return (rows_command(Gemm, micro_op, rows, src_factor_in=row_step),)


class MaxRows(VtaStep):
    """`C[i, j] = max(C[i, j], A[i, j])`, of rows of sums."""

    call = MAX_CALL
    n_operands = 2

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        (rows,) = numbers
        return Operand(Access.COMBINE, rows), Operand(Access.READ, rows)

    def cycles(self, blocks: int, rows: int, loaded: int) -> int:
        return blocks * (rows * self.config.alu_register_interval_cycles + _COMMAND_CYCLES)

    def rows_of(self, step: Step, row: Linear) -> Rows:
        c, a = step.first_rows
        return Rows(c + row, a + row)

    def commands_of(self, step: Step, rows: int, micro_op: Word) -> tuple[Command, ...]:
        return (rows_command(Alu, micro_op, rows, op=MAX, src_factor_in=1),)


class FillRows(VtaStep):
    """`C[i, j] = value`, of rows of sums: 0, and the value added."""

    call = FILL_CALL
    n_operands = 1
    commands = 2

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        rows, _ = numbers
        return (Operand(Access.WRITE, rows),)

    def cycles(self, blocks: int, rows: int, loaded: int) -> int:
        added = rows * self.config.alu_immediate_interval_cycles
        return blocks * (rows + added + 2 * _COMMAND_CYCLES)

    def rows_of(self, step: Step, row: Linear) -> Rows:
        (c,) = step.first_rows
        return Rows(c + row, c + row)

    def commands_of(self, step: Step, rows: int, micro_op: Word) -> tuple[Command, ...]:
        _, value = step.numbers
        add = rows_command(Alu, micro_op, rows, op=ADD, use_immediate=True, immediate=value)
        return reset(micro_op, rows), add


INTRINSICS = (MultiplyRows, MaxRows, FillRows)
