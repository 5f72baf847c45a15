"""Tables: the host looks up what NumPy does, and a table is the function that it was made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax

from npu_target.host import build_host, run_host
from npu_target.integer import Table, emit, operation_of
from npu_target.integer.table import int8_values
from npu_target.relax_graph import Graph


def network(operation, shape):
    builder = relax.BlockBuilder()
    value = relax.Var("value", relax.TensorType(shape, "int8"))
    with builder.function("main", [value]):
        with builder.dataflow():
            result = builder.emit_output(emit(builder, operation, [value], "layer"))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize("shape", [(256,), (2, 8, 16), (3, 5, 7, 11)])
def test_host_computes_what_numpy_does(shape):
    random = np.random.default_rng(0)
    operation = Table(tuple(random.integers(-128, 128, 256).tolist()))
    values = random.integers(-128, 128, shape).astype("int8")
    (out,) = run_host(build_host(network(operation, shape)), values)
    assert out.dtype == np.int8
    np.testing.assert_array_equal(out, operation.evaluate(values))


def test_every_entry_is_that_of_its_element():
    values = int8_values()
    assert values[0] == -128 and values[-1] == 127
    halved = np.floor_divide(values.astype(int), 2)
    operation = Table(tuple(halved.tolist()))
    (out,) = run_host(build_host(network(operation, values.shape)), values)
    np.testing.assert_array_equal(out, halved)


def test_a_network_says_what_it_computes():
    operation = Table(tuple(reversed(range(-128, 128))))
    mod = network(operation, (2, 2))
    graph = Graph(mod)
    (var,) = graph.order
    assert operation_of(mod, graph.value[var]) == (operation, (graph.params[0],))


@settings(deadline=None)
@given(st.lists(st.integers(-128, 127), min_size=256, max_size=256), st.integers(-128, 127))
def test_numpy_looks_up_what_is_written(values, element):
    assert Table(tuple(values)).evaluate(np.int8([element]))[0] == values[element + 128]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0,) * 255, "256 values, got 255"),
        ((0,) * 255 + (128,), "from -128 to 127, got 128"),
        ((-129,) + (0,) * 255, "from -128 to 127, got -129"),
    ],
)
def test_wrong_values_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Table(values)
