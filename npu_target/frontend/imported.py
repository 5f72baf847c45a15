"""A network as it comes out of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tvm.ir import IRModule

from ..integer import Quantization


@dataclass(frozen=True)
class TensorInfo:
    """What goes into a network or comes out: ``quantization`` is None for a tensor of floats, and
    for integers that stand for themselves."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None = None


@dataclass(frozen=True)
class Imported:
    """A network.

    name : the file's, without its suffix.
    mod : its function ``main`` with constants inside, images as NHWC. Its parameters and results
        are the file's, in their layout and type.
    integer : whether it came quantized: then ``main`` is in integer form (`npu_target.integer`),
        else in float32.
    inputs, outputs : of ``main``, in order, by the names that the file has for them.
    quantizations : what integers are worth, by the name of the variable in ``main``.
    origins : what the file calls what a variable holds, by the variable's name.
    remarks : what was not taken over to the last bit, such as biases that were rounded.
    """

    name: str
    mod: IRModule
    integer: bool
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    quantizations: Mapping[str, Quantization] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
