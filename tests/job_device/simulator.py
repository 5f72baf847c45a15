"""What the device computes, and how long it takes."""

from __future__ import annotations

import numpy as np
from job_device.commands import COMMANDS, Multiply, Operands, Results, Sizes

from npu_target.device.commands import IsaError
from npu_target.device.numbers import Numbers
from npu_target.device.scale_rule import ScaleRule
from npu_target.device_api.simulators import DeviceError, DeviceRun

NUMBERS = Numbers(ScaleRule())


def simulate(run: DeviceRun) -> dict[str, int]:
    """One command after another; a job is over when its last element is written."""
    told: dict[type, object] = {}
    cycles = macs = 0
    for host_cycles, funct, words in zip(run.host_cycles, run.functs, run.words, strict=True):
        try:
            command = COMMANDS.decode(int(funct), *map(int, words))
        except IsaError as error:
            raise DeviceError("unsupported_command", str(error)) from error
        told[type(command)] = command
        cycles += int(host_cycles)
        if not isinstance(command, Multiply):
            continue
        job = [told.get(cls) for cls in (Sizes, Operands, Results)]
        if None in job:
            raise DeviceError("undefined_configuration", "a job has no descriptor")
        sizes, operands, results = job
        cycles += _cycles(sizes, command, run)
        macs += sizes.m * sizes.k * sizes.n
        if run.computes_values:
            _multiply(sizes, operands, results, command, run)
    return {"cycles": cycles, "macs": macs}


def _cycles(sizes: Sizes, command: Multiply, run: DeviceRun) -> int:
    lanes, rate = run.numbers["lanes"], run.numbers["bytes_per_cycle"]
    m, k, n = sizes.m, sizes.k, sizes.n
    weights = k * n if command.in_blocks else 2 * k * n
    moving = -(-(m * k + weights + m * n) // rate)
    return run.numbers["job_cycles"] + max(moving, -(-m * k * n // lanes**2))


def _multiply(
    sizes: Sizes, operands: Operands, results: Results, command: Multiply, run: DeviceRun
) -> None:
    m, k, n, lanes = sizes.m, sizes.k, sizes.n, run.numbers["lanes"]
    a = run.dram.array(operands.a, np.int8, (m, k)).astype(np.int64)
    if command.in_blocks:
        shape = (-(-n // lanes), -(-k // lanes), lanes, lanes)
        blocks = run.dram.array(operands.b, np.int8, shape)
        whole = blocks.transpose(1, 2, 0, 3).reshape(shape[1] * lanes, shape[0] * lanes)
        b = whole[:k, :n].astype(np.int64)
    else:
        b = run.dram.array(operands.b, np.int8, (k, n)).astype(np.int64)
    sums = a @ b
    if results.bias:
        sums = sums + run.dram.array(results.bias, np.int32, (n,))
    out = run.dram.array(results.out, np.int8, (m, n), writable=True)
    out[:] = NUMBERS.rule.evaluate(sums.astype(np.int32), command.scale, command.relu)
