"""Tuning and building a network with an operator that the package does not have.

As a program it is `npu-target` for it: `scaled_network.py tune --model scaled`. The operator
is found by an entry point (see `topi/test_outside_operator.py`).
"""

from __future__ import annotations

import sys

import numpy as np
from relax_functions import function_of
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op

from npu_target.cli.main import main
from npu_target.models import registry

SHAPE = (5, 7, 20)


def scaled(emit, x) -> relax.Expr:
    """Two layers of scaled channels, int8 to int8; the second one with a ReLU."""
    random = np.random.default_rng(0)
    for scale, has_relu in ((0.02, False), (0.013, True)):
        factors = relax.const(random.integers(-128, 128, (1, 1, SHAPE[-1])).astype("int32"))
        wide = emit(op.astype(x, "int32"))
        total = emit(op.multiply(wide, factors), "scaled")
        value = emit(op.multiply(emit(op.astype(total, "float32")), relax.const(np.float32(scale))))
        x = emit(op.astype(emit(op.clip(emit(op.round(value)), -128, 127)), "int8"))
        if has_relu:
            x = emit(op.maximum(x, relax.const(np.int8(0))))
    return x


def network() -> IRModule:
    return function_of([SHAPE], scaled, "int8")


class ScaledModel(registry.Model):
    """It is integer already: quantizing leaves it as it is."""

    def calibration_inputs(self, count: int, seed: int = 0) -> list[list[np.ndarray]]:
        return [[np.zeros(SHAPE, np.int8)]]


if __name__ == "__main__":
    registry.MODELS["scaled"] = lambda weights, seed: ScaledModel("scaled", network())
    sys.exit(main())
