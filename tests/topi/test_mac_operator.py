"""Operators of sums of products: a device without a step that multiplies is told what it lacks."""

from __future__ import annotations

import pytest

from npu_target.device import kind_of
from npu_target.devices.vta import VtaConfig
from npu_target.topi.operator import OperatorError
from npu_target.topi.registry import operators_of

# Its blocks are not square, so no step is its definitions'.
CONFIG = VtaConfig(name="vta-1x32x16", log_block_in=5)


@pytest.mark.parametrize("op", kind_of(CONFIG).operators)
def test_a_device_without_a_step(op: str) -> None:
    cls = next(cls for cls in operators_of(CONFIG) if cls.op == op)
    with pytest.raises(OperatorError, match=f"^{op} is computed by a step .* vta-1x32x16 has none"):
        cls.examples(CONFIG)[0].check_device(CONFIG)
