"""Operations of copies that are made once for all iterations that differ by addresses alone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

import pytest
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace

from npu_target.codegen.nests import CopyNest
from npu_target.codegen.operations import CopyOperation
from npu_target.codegen.templates import CopyTemplates
from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.passes.linear import Linear
from npu_target.topi import Add, Conv2d, DepthwiseConv2d, Matmul, MaxPool2d, Operator
from npu_target.tuning.search import point_space
from npu_target.tuning.workload import workload_module

POINTS = 3
OPERATORS = {
    "gemmini-16x16": (
        Conv2d(1, 14, 14, 40, 24, 3, 3, (2, 2), (1, 1, 1, 1), True, True),
        Conv2d(1, 20, 20, 3, 16, 7, 7, (2, 2), (3, 3, 3, 3), True),
        DepthwiseConv2d(1, 9, 9, 40, 3, 3, 16, pad=(1, 1, 1, 1)),
        Matmul(2, 50, 40, 72, bias=True),
        MaxPool2d(1, 14, 14, 32, 3, 2, (1, 1, 1, 1)),
        Add(50, 40, 16),
    ),
    "vta-1x16x16": (
        Conv2d(1, 8, 8, 32, 32, 3, 3, (1, 1), (1, 1, 1, 1), True, True),
        Matmul(1, 48, 64, 32, bias=True),
    ),
}
CASES = [(device, operator) for device, all_of in OPERATORS.items() for operator in all_of]


def numbered(operations: Iterable[CopyOperation]) -> list[CopyOperation]:
    """Operations with their own loops called by their places, so that they can be compared."""
    found = []
    for operation in operations:
        names = {loop.loop_id: 1 << 20 | place for place, loop in enumerate(operation.loops)}
        loops = tuple(loop._replace(loop_id=names[loop.loop_id]) for loop in operation.loops)
        values = {old: Linear.loop(new) for old, new in names.items()}
        found.append(operation.substitute(values, loops))
    return found


@pytest.mark.parametrize(("device", "operator"), CASES)
def test_operations_are_those_of_a_copy_that_has_its_iterations_values_from_the_start(
    device: str, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[CopyOperation] = []
    from_template = CopyTemplates.operations

    def operations(
        self: CopyTemplates, nest: CopyNest, values: Mapping[int, Linear]
    ) -> list[CopyOperation]:
        found = from_template(self, nest, values)
        alone = CopyTemplates(self._emission, self._rules, self._ids)
        with monkeypatch.context() as patch:
            patch.setattr(CopyNest, "deciding", lambda nest, values: dict(values))
            expected = from_template(alone, nest, values)
        assert numbered(found) == numbered(expected)
        own = [loop.loop_id for operation in found for loop in operation.loops]
        assert not set(own) & {
            loop.loop_id for operation in expected for loop in operation.loops
        }, "loops of a program have ids of their own"
        compared.extend(found)
        return found

    monkeypatch.setattr(CopyTemplates, "operations", operations)
    config, generator = preset(device), random.Random(1)
    operator = operator.canonical()
    module = workload_module(operator, config)
    space = point_space(operator, config, "both", 0, generator)
    for point in space.draw(POINTS):
        schedule = Schedule(module)
        Trace.apply_json_to_schedule(space.trace(point), schedule)
        build_program(schedule.mod["main"], config, operator.name)
    assert compared
