"""Tables of int8 from functions of float elements, and from a change of scale."""

from __future__ import annotations

import numpy as np
import tvm
import tvm_ffi

from ..host import build_host, run_host
from ..integer import Table
from ..integer.table import int8_values
from ..relax_graph import Graph, shape_of
from .elementwise import ElementFunction

_LEAST, _LARGEST = -128, 127
IDENTITY = Table(tuple(range(_LEAST, _LARGEST + 1)))


class TableMaker:
    """Makes tables by computing the float operators themselves, on the host, in float32.

    Functions that are spelled alike are compiled once.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._compiled: dict[int, list[tuple[tvm.ir.IRModule, tvm.runtime.Executable]]] = {}

    def of(self, function: ElementFunction, input_scale: float, output_scale: float) -> Table:
        """What a function gives of the 256 elements, each worth ``input_scale`` a step, in steps
        of ``output_scale``. Where it gives no number, 0."""
        values = int8_values().astype(np.float32) * np.float32(input_scale)
        rank = len(shape_of(function.source))
        (found,) = run_host(
            self._executable(function), values.reshape((*[1] * (rank - 1), values.size))
        )
        return Table(_quantized(found.reshape(-1), output_scale))

    def _executable(self, function: ElementFunction) -> tvm.runtime.Executable:
        mod = function.module(self._graph)
        alike = self._compiled.setdefault(tvm_ffi.structural_hash(mod), [])
        for known, executable in alike:
            if tvm_ffi.structural_equal(known, mod):
                return executable
        alike.append((mod, build_host(mod)))
        return alike[-1][1]


def rescaled(input_scale: float, output_scale: float) -> Table:
    """The same numbers in steps of another scale."""
    return Table(_quantized(int8_values() * np.float64(input_scale), output_scale))


def _quantized(values: np.ndarray, scale: float) -> tuple[int, ...]:
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.clip(np.rint(values.astype(np.float64) / scale), _LEAST, _LARGEST)
    return tuple(int(step) for step in np.nan_to_num(steps, nan=0.0))
