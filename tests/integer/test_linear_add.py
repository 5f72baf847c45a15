"""Sums by float factors: the host computes what NumPy does, and NumPy what ONNX Runtime does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax

from npu_target.host import build_host, run_host
from npu_target.integer import emit
from npu_target.integer.linear_add import LinearAdd

EVERY = np.arange(-128, 128).astype("int8")
# All pairs of values.
A, B = (values.reshape(1, 256, 256).copy() for values in np.meshgrid(EVERY, EVERY))

SCALES = st.floats(2.0**-7, 1.0)
POINTS = st.integers(-128, 127)


def host_of(operation):
    builder = relax.BlockBuilder()
    params = [relax.Var(name, relax.TensorType(A.shape, "int8")) for name in "ab"]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(emit(builder, operation, params, "sum"))
        builder.emit_func_output(result)
    return build_host(builder.get())


@pytest.mark.parametrize("unsigned", [False, True])
def test_host_computes_what_numpy_does(unsigned):
    operation = LinearAdd((0.031, 0.27, 0.2), (3, -128, -9), low=-100, high=90, unsigned=unsigned)
    (out,) = run_host(host_of(operation), A, B)
    np.testing.assert_array_equal(out, operation.evaluate(A, B))
    assert len(np.unique(out)) > 100


def onnx_runtime(dtype, scales, points):
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    helper = onnx.helper
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    numbers = []
    for name, scale, point in zip("abc", scales, points, strict=True):
        numbers.append(onnx.numpy_helper.from_array(np.float32(scale), f"{name}_scale"))
        numbers.append(onnx.numpy_helper.from_array(np.array(point, dtype), f"{name}_point"))
    names = [f"{name}{end}" for name in "ab" for end in ("", "_scale", "_point")]
    node = helper.make_node(
        "QLinearAdd", [*names, "c_scale", "c_point"], ["c"], domain="com.microsoft"
    )
    values = [helper.make_tensor_value_info(name, kind, A.shape) for name in "abc"]
    graph = helper.make_graph([node], "add", values[:2], values[2:], numbers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString())
    return lambda a, b: session.run(None, {"a": a, "b": b})[0]


@settings(deadline=None, max_examples=60)
@given(st.tuples(SCALES, SCALES, SCALES), st.tuples(POINTS, POINTS, POINTS), st.booleans())
def test_onnx_runtime_computes_the_same(scales, points, unsigned):
    shift, dtype = (128, "uint8") if unsigned else (0, "int8")
    run = onnx_runtime(dtype, scales, [point + shift for point in points])
    theirs = run((A.astype(int) + shift).astype(dtype), (B.astype(int) + shift).astype(dtype))
    ours = LinearAdd(scales, points, unsigned=unsigned).evaluate(A, B)
    np.testing.assert_array_equal(theirs.astype(int) - shift, ours)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"scales": (1.0, float("nan"), 1.0)}, "finite"),
        ({"scales": (1.0, 1.0, 0.0)}, "positive"),
        ({"scales": (1e38, 1.0, 1e-38)}, "quotients"),
        ({"scales": (2e38, 2e38, 1.0), "zero_points": (100, 100, 0)}, "quotients"),
        ({"zero_points": (0, 128, 0)}, "zero points"),
        ({"low": 4, "high": 3}, "bounds"),
    ],
)
def test_wrong_numbers_are_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        LinearAdd(**({"scales": (1.0, 1.0, 1.0)} | numbers))
