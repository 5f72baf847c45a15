"""Ranges that were observed before, kept in the user's cache folder.

To observe them takes the host a run of the float network for each calibration input, and each
command that is given a float network needs them. They follow from the network with its weights and
from the inputs.
"""

from __future__ import annotations

import hashlib
import io
import platform
import time
from collections.abc import Callable, Sequence

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from ..kept import Kept
from ..relax_graph import Graph, constant_of
from .calibrate import RangeObserver, observe, with_outputs

# What took less time to observe is not worth a file.
_LEAST_SECONDS = 0.5
# Networks with inputs; one takes some 50 KB to 1 MB.
_MOST = 32

Inputs = Sequence[np.ndarray | Sequence[np.ndarray]]


def ranges_of(
    mod: IRModule,
    graph: Graph,
    variables: Sequence[relax.Var],
    inputs: Inputs,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[relax.Var, RangeObserver]:
    """What `observe` finds, now or when it was asked the same before.

    Inputs are asked for twice where nothing was found.  Raises QuantizeError as it does.
    """
    kept = Kept("ranges", most=_MOST)
    digest = _digest(mod, graph, variables, inputs)
    data = kept.read(digest)
    if data is not None:
        return _read(data, variables)
    began = time.monotonic()
    found = observe(mod, graph, variables, inputs, progress)
    if time.monotonic() - began >= _LEAST_SECONDS:
        kept.write(digest, _written([found[var] for var in variables]))
    return found


def _digest(mod: IRModule, graph: Graph, variables: Sequence[relax.Var], inputs: Inputs) -> str:
    watched = with_outputs(mod, graph, variables)
    digest = hashlib.sha256(platform.machine().encode())

    def add_constant(expr: relax.Expr) -> None:
        value = constant_of(expr)
        if value is not None:
            _add(digest, value)

    # The text has numbers in full, but not what is in constants.
    digest.update(watched.script(show_meta=False).encode())
    for function in watched.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, add_constant)
    for item in inputs:
        arguments = [item] if isinstance(item, np.ndarray) else list(item)
        digest.update(b"input")
        for value in arguments:
            _add(digest, value)
    return digest.hexdigest()[:32]


def _add(digest: hashlib._Hash, value: np.ndarray) -> None:
    digest.update(repr((value.shape, str(value.dtype))).encode())
    digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)


def _written(observers: Sequence[RangeObserver]) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(
        file,
        counts=np.array([seen.counts for seen in observers]),
        widths=np.array([seen.width for seen in observers]),
        largest=np.array([seen.largest for seen in observers]),
    )
    return file.getvalue()


def _read(data: bytes, variables: Sequence[relax.Var]) -> dict[relax.Var, RangeObserver]:
    """Of what `_written` returned."""
    with np.load(io.BytesIO(data)) as arrays:
        states = zip(arrays["counts"], arrays["widths"], arrays["largest"], strict=True)
        return {
            var: RangeObserver(var.name, counts, float(width), float(largest))
            for var, (counts, width, largest) in zip(variables, states, strict=True)
        }
