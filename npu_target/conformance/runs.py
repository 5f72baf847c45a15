"""An operator on the simulated device: its default schedule, compiled, launched and compared."""

from __future__ import annotations

import numpy as np
import tvm

from npu_target.codegen_tir import build_program
from npu_target.device import DeviceConfig, kind_of
from npu_target.device_api import create_module
from npu_target.packing import packed
from npu_target.passes.packings import packings
from npu_target.program import Program
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Operator
from npu_target.tuning.expected import expected_output, sample_inputs


def default_program(operator: Operator, config: DeviceConfig) -> tuple[Program, tvm.IRModule]:
    """The program of an operator's default schedule, and the scheduled module."""
    kernel = operator.kernel()
    mod = default_schedule(kernel, config).mod
    return build_program(mod["main"], config, kernel.name), mod


def inputs_of(operator: Operator, config: DeviceConfig, mod: tvm.IRModule) -> list[np.ndarray]:
    """Random inputs in the order of the arguments, as a scheduled module's program takes them."""
    arrays = sample_inputs(operator.kernel(), seed=7)
    laid_out = packed(arrays, packings(mod["main"], config))
    return [laid_out[arg.name] for arg in operator.kernel().args if arg.role == "input"]


def launched(program: Program, inputs: list[np.ndarray]) -> np.ndarray:
    """What a program makes of inputs, which it must leave as they are."""
    output = program.args[-1]
    result = tvm.runtime.tensor(np.full(output.shape, 85, output.dtype))
    tensors = [tvm.runtime.tensor(array) for array in inputs]
    create_module({program.name: program.to_bytes()})[program.name](*tensors, result)
    for tensor, array in zip(tensors, inputs, strict=True):
        np.testing.assert_array_equal(tensor.numpy(), array)
    return result.numpy()


def expected(operator: Operator, config: DeviceConfig) -> np.ndarray:
    """NumPy's answer for the inputs of `inputs_of`."""
    kernel = operator.kernel()
    return expected_output(kernel, sample_inputs(kernel, seed=7), kind_of(config).numbers)
