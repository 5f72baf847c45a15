"""Operators as the vendor's own C library runs them: the baseline of what we compile.

The library is `gemmini.h` of the public gemmini-rocc-tests, its way of calling it for whole
networks that of its ImageNet examples: products for the 1x1 convolutions of stride 1,
convolutions with their max pool for the rest, adds of residuals, averages. The commands are
those of the hardware's own loops (LOOP_WS, LOOP_CONV_WS).

A host that has all operands at hand issues a program of these: one cycle a command by the
device's config. The library's own computation of operands, and its fences between calls, cost
more, so the baseline is not slower here than there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.devices.gemmini.routes import ROUTES
from npu_target.devices.gemmini.routes.conv import conv_call, conv_commands, window_refusal
from npu_target.devices.gemmini.routes.conv_tile import ConvCall, TileSearch
from npu_target.devices.gemmini.routes.matmul import product_of
from npu_target.program import Arg, Node, Program
from npu_target.topi import (
    Add,
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool,
    MaxPool2d,
    Operator,
)
from npu_target.topi.window import Window
from npu_target.tuning.expected import expected_output

from .vendor_add import LOAD_SCALES, add_commands
from .vendor_average import average_nodes

# Arguments of ours that the library has no use for: it adds by loads.
_CONSTANTS = ("weights", "ones")


class NotInLibraryError(ValueError):
    """An operator that the library has no form for; the message says why."""


def vendor_program(
    operator: Operator, config: GemminiConfig, pool: MaxPool2d | None = None
) -> Program:
    """The library's program for an operator, of a convolution with the max pool after it.

    Its arguments are the operator's, the output that of the pool. Weights of a depthwise
    convolution are [channels, kernel, kernel], as the library has them (`vendor_inputs`); sums
    take no multipliers and no ones. Raises NotInLibraryError.
    """
    if pool is not None and not isinstance(operator, (Conv2d, DepthwiseConv2d)):
        raise NotInLibraryError(f"{operator.name}: the library pools convolutions only")
    args = {arg.name: arg for arg in operator.args}
    if pool is not None:
        args["out"] = replace(args["out"], shape=pool.args[-1].shape)
    if isinstance(operator, DepthwiseConv2d):
        shape = (operator.c, operator.kh, operator.kw)
        args["weight"] = replace(args["weight"], shape=shape)
    args = {name: arg for name, arg in args.items() if name not in _CONSTANTS}
    name = operator.name if pool is None else f"{operator.name}_{pool.name}"
    program_args = tuple(Arg(a.name, a.role, a.dtype, a.shape) for a in args.values())
    return Program(name, config, program_args, tuple(_nodes(operator, config, pool)))


def vendor_inputs(operator: Operator, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The operator's input arguments as the library takes them."""
    arrays = dict(inputs)
    if isinstance(operator, DepthwiseConv2d):
        channels = np.arange(operator.c)
        compact = arrays["weight"][:, :, channels, channels % operator.dim]
        arrays["weight"] = np.ascontiguousarray(compact.transpose(2, 0, 1))
    return arrays


def vendor_output(operator: Operator, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """What the library's program has to compute: the operator's output, but for a residual add,
    whose operands it rounds one by one."""
    if not isinstance(operator, Add):
        return expected_output(operator, inputs, NUMBERS)
    loaded = [_rounded(inputs[name], scale) for name, scale in zip("ab", LOAD_SCALES, strict=True)]
    return _rounded(loaded[0] + loaded[1], operator.scale, 0 if operator.relu else -128)


def _rounded(values: np.ndarray, scale: float, least: int = -128) -> np.ndarray:
    scaled = np.rint(values.astype(np.float32) * np.float32(scale))
    return np.clip(scaled, least, 127).astype(np.int32)


def tile_checks(operator: Operator, config: GemminiConfig, pool: MaxPool2d | None = None) -> int:
    """How often the library computes, before its first command, whether a convolution's tile
    fits; 0 for what it runs as something else."""
    if not isinstance(operator, (Conv2d, DepthwiseConv2d)):
        return 0
    if pool is None and product_of(operator) is not None:
        return 0
    return TileSearch(_conv_call(operator, pool), config).checks


def _nodes(operator: Operator, config: GemminiConfig, pool: MaxPool2d | None) -> Iterable[Node]:
    if isinstance(operator, DepthwiseConv2d) or pool is not None:
        assert isinstance(operator, (Conv2d, DepthwiseConv2d))
        return conv_commands(_conv_call(operator, pool), config)
    if isinstance(operator, Add):
        return add_commands(operator, config)
    if isinstance(operator, GlobalAvgPool):
        return average_nodes(operator, config)
    for route in (cls(config) for cls in ROUTES):
        refusal = route.refusal(operator)
        if refusal is None:
            return route.nodes(operator)
    if isinstance(operator, Conv2d):
        raise NotInLibraryError(refusal)
    raise NotInLibraryError(f"{operator.name}: the library runs {operator.op} on the host")


def _conv_call(operator: Conv2d | DepthwiseConv2d, pool: MaxPool2d | None) -> ConvCall:
    call = conv_call(operator)
    _check_window(operator.name, operator.window)
    if pool is None:
        return call
    out = operator.args[-1].shape
    if (pool.n, pool.h, pool.w, pool.c) != out:
        raise NotInLibraryError(f"{pool.name} does not pool the output {out} before it")
    _check_window(pool.name, pool.window)
    return replace(
        call,
        has_pool=True,
        pool_size=pool.size,
        pool_stride=pool.stride,
        pool_padding=pool.window.pad[0],
    )


def _check_window(name: str, window: Window) -> None:
    refusal = window_refusal(name, window)
    if refusal is not None:
        raise NotInLibraryError(refusal)
