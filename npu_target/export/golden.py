"""What the exported network is compared with: inputs, and what the build's host and simulated
device say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..build import compile_network
from ..host import run_host
from .arena import LINE_BYTES, lines
from .calls import Tensor
from .errors import ExportError


@dataclass(frozen=True)
class Golden:
    """The arrays of one run."""

    inputs: Sequence[np.ndarray]
    outputs: Sequence[np.ndarray]


def golden_inputs(
    drawn: np.ndarray | Sequence[np.ndarray], tensors: Sequence[Tensor]
) -> list[np.ndarray]:
    """The arrays of one calibration input, one for each of the network's inputs."""
    arrays = [drawn] if isinstance(drawn, np.ndarray) else list(drawn)
    for array, tensor in zip(arrays, tensors, strict=True):
        if array.shape != tensor.shape or str(array.dtype) != tensor.dtype:
            raise ExportError(
                f"{tensor.name} is {tensor.dtype}{list(tensor.shape)}, the model's own input is "
                f"{array.dtype}{list(array.shape)}"
            )
    return arrays


def golden_outputs(mod: object, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What the build of a partitioned, scheduled module says."""
    return run_host(compile_network(mod), *inputs)


def struct_bytes(arrays: Sequence[np.ndarray], line_bytes: int = LINE_BYTES) -> bytes:
    """The arrays as `net_input` and `net_output` have them: each from the start of a line."""
    return b"".join(
        np.ascontiguousarray(array).tobytes().ljust(lines(array.nbytes, line_bytes), b"\0")
        for array in arrays
    )
