"""The two ways to have a matrix product computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from job_device.commands import Multiply, Operands, Results, Sizes

from npu_target.device.route import Route
from npu_target.packing import Packing, TileLoop
from npu_target.program import Command, Operand, device_command
from npu_target.topi import Matmul, Operator


class JobRoute(Route):
    """A job for each product of a batch."""

    name = "job"
    in_blocks = False

    def refusal(self, operator: Operator) -> str | None:
        if not isinstance(operator, Matmul):
            return f"its jobs are products, {operator.name} is none"
        return None

    def nodes(self, operator: Operator) -> Iterator[Command]:
        assert isinstance(operator, Matmul)
        m, k, n = operator.m, operator.k, operator.n
        yield device_command(Sizes, m=m, k=k, n=n)
        for batch in range(operator.batch):
            yield device_command(
                Operands,
                a=Operand.argument(0, batch * m * k),
                b=Operand.argument(1, batch * k * n),
            )
            yield device_command(
                Results,
                bias=Operand.argument(2) if operator.bias else Operand(),
                out=Operand.argument(len(operator.args) - 1, batch * m * n),
            )
            yield device_command(
                Multiply,
                scale=operator.scale,
                relu=operator.relu,
                in_blocks=self.in_blocks,
            )


class BlocksRoute(JobRoute):
    """A job whose weights are a constant, laid out in blocks when a network is built."""

    name = "job_in_blocks"
    in_blocks = True

    def refusal(self, operator: Operator) -> str | None:
        refusal = super().refusal(operator)
        if refusal is None and "b" not in operator.layout_free:
            return f"the layout of the weights of {operator.name} is not free"
        return refusal

    def packings(self, operator: Operator) -> Mapping[str, Packing]:
        assert isinstance(operator, Matmul)
        rows, columns = (TileLoop(dimension, 1, self.config.lanes) for dimension in (1, 2))
        return {"b": Packing((1, operator.k, operator.n), (rows, columns), blocks=1)}


ROUTES = (JobRoute, BlocksRoute)
