"""Matrix products of many shapes in one function: no network, but a set to measure by."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax
from tvm.ir import IRModule

# (m, k, n) of [m, k] x [k, n]
SIZES = (
    *((size, size, size) for size in (64, 128, 256, 512, 1024)),
    (1024, 64, 64),
    (64, 1024, 64),
    (64, 64, 1024),
    (1024, 1024, 64),
    (1024, 64, 1024),
    (64, 1024, 1024),
)


def build_matmuls(seed: int, sizes: tuple[tuple[int, int, int], ...] = SIZES) -> IRModule:
    """``main(a0, a1, ...)`` gives the tuple of the float32 products of its arguments, one for
    each of ``sizes``, with weights drawn from ``seed``."""
    random = np.random.default_rng(seed)
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"a{index}", relax.TensorType((m, k), "float32"))
        for index, (m, k, _) in enumerate(sizes)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            products = []
            for param, (m, k, n) in zip(params, sizes, strict=True):
                weight = random.normal(0.0, 1.0 / math.sqrt(k), (k, n)).astype("float32")
                product = relax.op.matmul(param, relax.const(weight))
                products.append(builder.emit(product, f"matmul_{m}x{k}x{n}"))
            output = builder.emit_output(relax.Tuple(products))
        builder.emit_func_output(output)
    return builder.get()
