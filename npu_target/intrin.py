"""Tensor intrinsics: what a device's steps compute, as TensorIR, beside the calls they become.

A description is what ``Schedule.tensorize`` matches; the implementation calls an extern function on
addresses of rows of the device's memories, which the code generator turns into commands: whose
intrinsic it is, the manifest of the device says (:mod:`npu_target.device.intrinsic`).  Copies,
zero writes, bias loads, requantization and pooling have no fixed shape (rows and columns are
operands of commands), so they are not tensorized but recognised in the lowered loops: see
:mod:`npu_target.passes.copies`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tvm import ir
from tvm.ir import TensorLoad
from tvm.s_tir import TensorIntrin

from .device import DeviceConfig, Elementwise, ElementwiseStep, MultiplyStep, kind_of, presets
from .device.intrinsic import Access, Intrinsic, Operand
from .elementwise_functions import fill_functions, max_functions
from .step_functions import StepFunctions, step_functions

# On the outermost loop of a store: the blocks of its sums lie side by side, so that one command
# stores several blocks of columns.
WIDE = "npu.wide"
# On the outermost loop of a load of weights: they lie in DRAM as the load puts them into its tile.
# The value is the order of the tile's dimensions but the last, in which its rows follow each other.
PACKED = "npu.packed"
# On the outermost loop of a load of an operand that stays for several nests of steps: the first
# steps come to its halves by turns, which lie in banks of their own, so that what arrives of one
# half does not keep them from reading the other.
HALVED = "npu.halved"
# On the outermost loop of a load of weights, and of a store: the first steps that need them come in
# outer-product order, the last ones that make what is stored in inner-product order.
ENDS = "npu.ends"
# On the outermost loop of a store: commands come in the order of the schedule's statements, and
# what overlaps is left to the device's queues.
IN_ORDER = "npu.in_order"
_MOST_KNOWN_STEP = 4


class StepCall(NamedTuple):
    """A call of an intrinsic: what it touches of each operand, the first element of that, and the
    numbers that it is called with."""

    intrinsic: Intrinsic
    operands: tuple[Operand, ...]
    elements: tuple[TensorLoad, ...]
    numbers: tuple[int, ...]

    @property
    def written(self) -> TensorLoad:
        """The first element of what it writes, or adds to."""
        both = zip(self.operands, self.elements, strict=True)
        return next(x for operand, x in both if operand.access is not Access.READ)


def step_call(node: object, intrinsics: Mapping[str, Intrinsic]) -> StepCall | None:
    """The call that a node is, None where it is of none of these intrinsics."""
    if not isinstance(node, ir.Call) or getattr(node.op, "name", "") != "tirx.call_extern":
        return None
    intrinsic = intrinsics.get(str(node.args[0].value))
    if intrinsic is None:
        return None
    end = 1 + intrinsic.n_operands
    numbers = tuple([int(number.value) for number in node.args[end:]])
    elements = tuple([address.args[0] for address in node.args[1:end]])
    return StepCall(intrinsic, intrinsic.operands(*numbers), elements, numbers)


def most_step_rows(config: DeviceConfig) -> int:
    """How many rows the device's step that multiplies takes at once; those of a block for a device
    without one."""
    step = _multiplying_step(config)
    return config.dim if step is None else step.most_rows


def _multiplying_step(config: DeviceConfig) -> MultiplyStep | None:
    return kind_of(config).features(config).step


def gemm_intrinsic(config: DeviceConfig, rows: int, row_step: int = 1) -> str:
    """Register, and name, the device's step that multiplies, with ``rows`` rows of A; an empty name
    for a device without one, where definitions only say what is computed.

    Meaning: ``C[i, j] += A[i * row_step, k] * B[k, j]`` in the type of C, with A
    ``[(rows - 1) * row_step + 1, dim]`` in the memory of inputs, B ``[dim, dim]`` in that of
    weights, C ``[rows, dim]`` in that of sums; their rows are whole ones of these memories, all as
    wide as the device's ``dim``: definitions have square blocks.

    Parameters
    ----------
    rows : the rows of A and C.
    row_step : rows of the memory between two rows of A.

    Raises
    ------
    ValueError
        for more rows than the step takes, and for a step of the same call on a device whose
        operands are in other memories.
    """
    step = _multiplying_step(config)
    if step is None:
        return ""
    if rows == 1:
        row_step = 1  # no row follows
    if not 1 <= rows <= step.most_rows:
        raise ValueError(
            f"gemm_intrinsic: rows must be 1 to {step.most_rows} on {config.name}, got {rows}"
        )
    if row_step < 1:
        raise ValueError(f"gemm_intrinsic: row_step must be at least 1, got {row_step}")
    memories = config.memories
    K, D = memories.inputs.columns, memories.sums.columns
    name = _registered(
        f"{step.call}_{rows}x{K}x{D}_step{row_step}",
        lambda: step_functions(step.call, memories, (K, D), rows, row_step),
    )
    scopes = tuple(memory.scope for memory in (memories.inputs, memories.weights, memories.sums))
    known = operand_scopes(name)
    if known != scopes:
        raise ValueError(
            f"gemm_intrinsic: {name} is registered with operands in {', '.join(known)}, "
            f"{config.name} has {', '.join(scopes)}: give the step of such a device another call"
        )
    return name


def max_intrinsic(config: DeviceConfig) -> str:
    """Register, and name, the device's step that takes maxima, for one row.

    Meaning: ``C[0, j] = max(C[0, j], A[0, j])``, both ``[1, columns]`` in the memory of sums.
    Rows of both that follow each other are a step of several rows to the device.

    Raises
    ------
    ValueError
        for a device without such a step.
    """
    call, sums = _elementwise_step(config, Elementwise.MAX).call, config.memories.sums
    return _registered(f"{call}_{sums.columns}", lambda: max_functions(call, sums))


def fill_intrinsic(config: DeviceConfig, value: int) -> str:
    """Register, and name, the device's step that fills rows of sums, for one row:
    ``C[0, j] = value``.

    Raises
    ------
    ValueError
        for a device without such a step.
    """
    call, sums = _elementwise_step(config, Elementwise.FILL).call, config.memories.sums
    name = f"{call}_{sums.columns}_with{value}"
    return _registered(name, lambda: fill_functions(call, sums, value))


def _elementwise_step(config: DeviceConfig, operation: Elementwise) -> ElementwiseStep:
    step = kind_of(config).features(config).elementwise_step(operation)
    if step is None:
        raise ValueError(f"{config.name} has no step for {operation.value} of rows of sums")
    return step


def _registered(name: str, make: Callable[[], StepFunctions]) -> str:
    if TensorIntrin.get(name, allow_missing=True) is None:
        functions = make()
        TensorIntrin.register(name, functions.description, functions.implementation)
    return name


def gemm_rows(name: str) -> int:
    """The rows of A and C of an intrinsic that :func:`gemm_intrinsic` named."""
    destination = TensorIntrin.get(name).desc.params[2]
    return int(destination.shape[0])


def operand_scopes(name: str) -> tuple[str, ...]:
    """The storage scopes of the operands of a tensor intrinsic, by its description."""
    return tuple(str(operand.scope()) for operand in TensorIntrin.get(name).desc.params)


def register_intrinsics(config: DeviceConfig) -> None:
    """Make known what schedules for a device name: steps of up to as many rows as a block has, next
    to each other or up to four apart. Other steps are registered by who asks for them."""
    features = kind_of(config).features(config)
    if features.step is not None:
        for rows in range(1, min(config.dim, features.step.most_rows) + 1):
            for row_step in range(1, _MOST_KNOWN_STEP + 1):
                gemm_intrinsic(config, rows, row_step)
    if features.elementwise_step(Elementwise.MAX) is not None:
        max_intrinsic(config)
    if features.elementwise_step(Elementwise.FILL) is not None:
        fill_intrinsic(config, kind_of(config).numbers.least_element)


# A log names intrinsics, and TVM reads it without asking for them.
for _config in presets().values():
    register_intrinsics(_config)
