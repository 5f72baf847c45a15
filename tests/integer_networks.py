"""Networks of one named integer operation, run on the host and in NumPy."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from npu_target.host import build_host, run_host
from npu_target.integer import IntegerOperation, emit, operation_of
from npu_target.relax_graph import Graph


def network(operation: IntegerOperation, *inputs: np.ndarray) -> IRModule:
    """A function of the operation on inputs such as these."""
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"x{index}", relax.TensorType(value.shape, str(value.dtype)))
        for index, value in enumerate(inputs)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(emit(builder, operation, params, "layer"))
        builder.emit_func_output(result)
    return builder.get()


def evaluated(operation: IntegerOperation, *inputs: np.ndarray) -> np.ndarray:
    """What NumPy makes of it, required of the host and of what the module says it is."""
    mod = network(operation, *inputs)
    graph = Graph(mod)
    (var,) = graph.order
    assert operation_of(mod, graph.value[var]) == (operation, tuple(graph.params))
    wanted = operation.evaluate(*inputs)
    (found,) = run_host(build_host(mod), *inputs)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)
    return wanted
