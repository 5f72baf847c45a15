"""The steps of GEMM and ALU commands: what a call touches, and how many rows are a command."""

from __future__ import annotations

from abc import abstractmethod

from ...codegen.steps import Step
from ...device.intrinsic import Access, Intrinsic, Operand
from ...passes.linear import Linear
from ...program import Command, device_command
from ...program import Operand as Word
from .config import VtaConfig
from .features import GEMM_CALL
from .isa import MAX, Alu, Gemm
from .micro_ops import Rows

MAX_CALL = "npu.vta_max"
# Of the field that counts a command's turns.
_MOST_ROWS = (1 << 14) - 1
# A command beside its steps: see `simulator/timing.cc`.
_COMMAND_CYCLES = 7


class VtaStep(Intrinsic):
    """A step for each row: the commands are made where the micro-ops of their program are known,
    see `npu_target.devices.vta.emission`."""

    config: VtaConfig

    @property
    def most_rows(self) -> int:
        return _MOST_ROWS

    def sizes(self, rows: int) -> list[tuple[int, int]]:
        whole, rest = divmod(rows, _MOST_ROWS)
        return [(_MOST_ROWS, whole)] * (whole > 0) + [(rest, 1)] * (rest > 0)

    def cycles(self, blocks: int, rows: int, loaded: int) -> int:
        return blocks * (rows + _COMMAND_CYCLES)

    @abstractmethod
    def rows_of(self, step: Step, row: Linear) -> Rows:
        """The rows that the micro-op of a command names, whose rows are those from `row` on."""

    @abstractmethod
    def command(self, step: Step, rows: int, micro_op: Word) -> Command:
        """The command of so many rows, with the index of its micro-op."""


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

    def command(self, step: Step, rows: int, micro_op: Word) -> Command:
        return device_command(
            Gemm,
            uop_begin=micro_op,
            uop_end=(micro_op, 1),
            iter_in=rows,
            dst_factor_in=1,
            src_factor_in=step.operands[0].row_step if rows > 1 else 0,
        )


class MaxRows(VtaStep):
    """`C[i, j] = max(C[i, j], D[i * row_step, j])`, of rows of sums."""

    call = MAX_CALL
    n_operands = 2

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        rows, row_step = numbers
        return (Operand(Access.ADD, rows), Operand(Access.READ, rows, row_step))

    def cycles(self, blocks: int, rows: int, loaded: int) -> int:
        return blocks * (rows * self.config.alu_register_interval_cycles + _COMMAND_CYCLES)

    def rows_of(self, step: Step, row: Linear) -> Rows:
        c, d = step.first_rows
        return Rows(c + row, d + row * step.operands[1].row_step)

    def command(self, step: Step, rows: int, micro_op: Word) -> Command:
        return device_command(
            Alu,
            op=MAX,
            uop_begin=micro_op,
            uop_end=(micro_op, 1),
            iter_in=rows,
            dst_factor_in=1,
            src_factor_in=step.operands[1].row_step if rows > 1 else 0,
        )


INTRINSICS = (MultiplyRows, MaxRows)
