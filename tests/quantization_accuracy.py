"""What quantization costs: the integer network's outputs against the float network's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm.ir import IRModule

from npu_target.host import build_host, run_host


@dataclass(frozen=True)
class Accuracy:
    """``sqnr_db``: signal to quantization noise of all outputs together, in decibels.
    ``top1_agreement``: share of output rows whose largest element is the same (a tie of the
    integer network counts as agreement if the float network's choice is in it)."""

    sqnr_db: float
    top1_agreement: float
    inputs: int


def compare(reference: IRModule, quantized: IRModule, inputs: Sequence[np.ndarray]) -> Accuracy:
    """Run both modules' ``main`` on the host for every one of ``inputs``."""
    float_network, integer_network = build_host(reference), build_host(quantized)
    signal = noise = 0.0
    agreed = rows = 0
    for value in inputs:
        (wanted,), (found,) = run_host(float_network, value), run_host(integer_network, value)
        signal += float(np.sum(wanted.astype("float64") ** 2))
        noise += float(np.sum((wanted.astype("float64") - found) ** 2))
        choice = wanted.argmax(axis=-1)
        chosen = np.take_along_axis(found, choice[..., np.newaxis], axis=-1)[..., 0]
        agreed += int(np.sum(chosen == found.max(axis=-1)))
        rows += choice.size
    sqnr_db = float("inf") if noise == 0.0 else 10.0 * float(np.log10(signal / noise))
    return Accuracy(sqnr_db, agreed / rows, len(inputs))
