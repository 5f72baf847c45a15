"""The code generator: programs as text, results of kernels that were once wrong, and errors."""

from __future__ import annotations

import pytest
from kernel_runs import check_schedule, kernel_schedule

from npu_target import topi
from npu_target.codegen_tir import CodegenError, DoesNotFit
from npu_target.config import NpuConfig
from npu_target.schedule_rules import default_schedule
from npu_target.topi.templates import templates

# What was once computed wrongly, or not at all.
REGRESSIONS = [
    # A store that waits for the next part's steps, in rows which that part takes over.
    ("gemmini-16x16", topi.Conv2d(1, 1, 2, 1, 1, 1, 2, pad=(0, 0, 0, 1), bias=False)),
    # Several blocks of a bias in one load.
    ("gemmini-8x8", topi.Matmul(1, 1, 1, 17)),
    # A pooled image wider than the store unit counts, and one window a line.
    ("gemmini-16x16", topi.MaxPool2d(1, 10, 300, 5, 3, 1)),
    ("gemmini-16x16", topi.MaxPool2d(1, 300, 3, 5, 3, 2)),
    # Kernels whose weights do not fit, and strides past the rows of a step.
    ("gemmini-32x32", topi.Conv2d(1, 17, 33, 3, 40, 16, 16, (16, 16))),
    ("gemmini-32x32", topi.Conv2d(1, 3, 5000, 2, 3, 3, 3, (1, 700))),
]


@pytest.mark.parametrize(
    ("preset", "operator"), REGRESSIONS, ids=lambda value: getattr(value, "name", value)
)
def test_regressions(preset, operator):
    config = NpuConfig.preset(preset)
    check_schedule(operator, default_schedule(operator.kernel(), config), config)
    for template in templates(operator.kernel()):
        schedule = kernel_schedule(operator, config, seed=1)
        template(schedule)
        try:
            check_schedule(operator, schedule, config)
        except CodegenError as error:
            assert isinstance(error, DoesNotFit) or "store unit counts" in str(error), error
