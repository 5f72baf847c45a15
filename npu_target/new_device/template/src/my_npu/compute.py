"""What the unit computes: its step, as code generation sees it."""

from __future__ import annotations

from npu_target.codegen.operands import to_operand
from npu_target.codegen.steps import Step
from npu_target.device.intrinsic import Access, Intrinsic, Operand
from npu_target.passes.linear import Linear
from npu_target.program import Node, device_command

from .commands import Multiply
from .config import MyNpuConfig
from .kind import MULTIPLY


class MultiplyRows(Intrinsic):
    """`C[i, j] += A[i * row_step, k] * B[k, j]`, one row of A and C after the other."""

    call = MULTIPLY
    n_operands = 3
    multiplies = True
    config: MyNpuConfig

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        """The rows that a call touches; one matrix for all of them does not follow."""
        rows, row_step = numbers
        matrix = Operand(Access.READ, self.config.lanes, follows=False)
        return Operand(Access.READ, rows, row_step), matrix, Operand(Access.ADD, rows)

    def sizes(self, rows: int) -> list[tuple[int, int]]:
        """Steps whose rows follow each other are cut anew, as a command takes more of them."""
        most = self.config.most_rows
        return [(n, times) for n, times in ((most, rows // most), (rows % most, 1)) if n and times]

    def cycles(self, blocks: int, rows: int, loaded: int) -> float:
        return blocks * sum(n * self.config.multiply_cycles(size) for size, n in self.sizes(rows))

    def nodes(
        self, step: Step, row: Linear, rows: int, *, new_stationary: bool, overwrites: bool
    ) -> tuple[Node, ...]:
        vector, matrix, to = step.first_rows
        row_step = step.operands[0].row_step
        command = device_command(
            Multiply,
            vector=to_operand(vector + row * row_step),
            matrix=to_operand(matrix),
            to=to_operand(to + row),
            rows=rows,
            step=row_step,
            overwrites=overwrites,
        )
        return (command,)


INTRINSICS = (MultiplyRows,)
