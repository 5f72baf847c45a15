"""Operators on the simulated device: random arguments, a compiled schedule, the NumPy answer."""

from __future__ import annotations

import numpy as np
import tvm
from reference import operators as reference
from tvm.s_tir import Schedule

from npu_target import topi
from npu_target.codegen_tir import build_program
from npu_target.device import DeviceConfig
from npu_target.device_api import create_module
from npu_target.packing import packed
from npu_target.passes.packings import packings
from npu_target.program import Program

# What each byte of the output holds before a run: an element that a kernel leaves out keeps it.
UNWRITTEN = 85


def random_arguments(operator: topi.Operator, seed: int) -> dict[str, np.ndarray]:
    """Inputs by name: all of int8; a bias of all sizes, for sums that wrap too. The weight of a
    depthwise convolution is compact, `[kh, kw, c]`, and so are an addition's two multipliers and
    its constant."""
    generator = np.random.default_rng(seed)
    arrays = {}
    for arg in operator.args[:-1]:
        shape = arg.shape
        if isinstance(operator, topi.DepthwiseConv2d) and arg.name == "weight":
            shape = shape[:-1]
        if isinstance(operator, topi.Add) and arg.name == "weights":
            shape = shape[:1]
        if isinstance(operator, topi.Add) and arg.name == "bias":
            shape = (1,)
        limit = 2 ** int(generator.integers(1, 32)) if arg.dtype == "int32" else 128
        arrays[arg.name] = generator.integers(-limit, limit, shape, np.dtype(arg.dtype))
    if isinstance(operator, topi.GlobalAvgPool):
        arrays["ones"] = np.ones(operator.dim, np.int8)
    if isinstance(operator, topi.MaxPool2d) and operator.dim is not None:
        arrays["identity"] = np.eye(operator.dim, dtype=np.int8)
    return arrays


def expected(operator: topi.Operator, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The NumPy reference's answer."""
    o, scale = operator, None if getattr(operator, "sums", False) else getattr(operator, "scale", 1)
    if isinstance(o, (topi.Conv2d, topi.DepthwiseConv2d)):
        compute = reference.conv2d if isinstance(o, topi.Conv2d) else reference.depthwise_conv2d
        x, weight, bias = arrays["x"], arrays["weight"], arrays.get("bias")
        if isinstance(o, topi.Conv2d):  # a kernel may see the same bytes in another shape
            x = x.reshape(o.n, o.h, o.w, o.ci)
            weight = weight.reshape(o.kh, o.kw, o.ci, o.co)
        return compute(x, weight, bias, o.strides, o.pad, scale, o.relu, o.pad_value)
    if isinstance(o, topi.Matmul):
        return reference.matmul(arrays["a"], arrays["b"], arrays.get("bias"), scale, o.relu)
    if isinstance(o, topi.Add):
        multipliers, bias = arrays["weights"], arrays.get("bias")
        return reference.add(arrays["a"], arrays["b"], multipliers, bias, scale, o.relu)
    if isinstance(o, topi.MaxPool2d):
        return reference.max_pool2d(arrays["x"], o.size, o.stride, o.pad, o.pad_value)
    if isinstance(o, topi.GlobalAvgPool):
        return reference.global_avg_pool(arrays["x"].reshape(o.n, o.h, o.w, o.c), scale)
    raise AssertionError(f"no reference for {o.op}")


def kernel_arguments(operator: topi.Operator, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The inputs as the kernel takes them, in call order."""
    arrays = dict(arrays)
    if isinstance(operator, topi.DepthwiseConv2d):
        weight = arrays["weight"]
        arrays["weight"] = np.zeros((*weight.shape, operator.dim), np.int8)
        for channel in range(weight.shape[2]):
            arrays["weight"][:, :, channel, channel % operator.dim] = weight[:, :, channel]
    if isinstance(operator, topi.Add):
        identity = np.eye(operator.dim, dtype=np.int8)
        arrays["weights"] = arrays["weights"][:, None, None] * identity
        if operator.bias:
            arrays["bias"] = np.repeat(arrays["bias"], operator.dim)
    return [arrays[arg.name] for arg in operator.args[:-1]]


def run_program(program: Program, inputs: list[np.ndarray]) -> np.ndarray:
    """The output of a program, whose inputs, here of any shape, must stay as they are."""
    inputs = [a.reshape(arg.shape) for arg, a in zip(program.args[:-1], inputs, strict=True)]
    output = program.args[-1]
    before = np.frombuffer(bytes([UNWRITTEN]) * output.nbytes, output.dtype)
    result = tvm.runtime.tensor(before.reshape(output.shape).copy())
    tensors = [tvm.runtime.tensor(array) for array in inputs]
    create_module({program.name: program.to_bytes()})[program.name](*tensors, result)
    for tensor, array in zip(tensors, inputs, strict=True):
        np.testing.assert_array_equal(tensor.numpy(), array)
    return result.numpy()


def check_schedule(
    operator: topi.Operator, schedule: Schedule, config: DeviceConfig, seed: int = 0
) -> Program:
    """Compile a schedule of the operator's kernel and compare its result, bit for bit."""
    program = build_program(schedule.mod["main"], config, operator.name)
    arrays = random_arguments(operator, seed)
    names = [arg.name for arg in operator.args[:-1]]
    inputs = dict(zip(names, kernel_arguments(operator, arrays), strict=True))
    laid_out = packed(inputs, packings(schedule.mod["main"], config))
    result = run_program(program, [laid_out[name] for name in names])
    wanted = expected(operator, arrays)
    np.testing.assert_array_equal(result.reshape(wanted.shape), wanted)
    return program


def kernel_schedule(operator: topi.Operator, config: DeviceConfig, seed: int) -> Schedule:
    """The operator's kernel, nothing scheduled yet; `seed` is of the sampled tiles."""
    return Schedule(operator.kernel().prim_func(config), seed=seed)
