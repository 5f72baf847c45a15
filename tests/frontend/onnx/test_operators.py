"""Operators one by one: quantized ones equal to ONNX Runtime's kernels, float ones near them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_models import Maker, run  # noqa: E402

from npu_target.frontend import load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402
from npu_target.relax_graph import Graph, dtype_of, op_name  # noqa: E402

INT8, UINT8, INT32 = onnx.TensorProto.INT8, onnx.TensorProto.UINT8, onnx.TensorProto.INT32
TYPES = {INT8: "int8", UINT8: "uint8"}
MICROSOFT = "com.microsoft"


class Quantized(Maker):
    """Writes quantized operators, of one type of integers."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.dtype = TYPES[kind]

    def numbers(self, name, scale, point=0):
        """Names of a scale and a zero point; `point` is that of int8."""
        shift = 128 if self.kind == UINT8 else 0
        return [
            self.constant(np.float32(scale * 1.0137), f"{name}_scale"),
            self.constant(np.array(point + shift, self.dtype), f"{name}_point"),
        ]

    def integers(self, name, *shape, dtype=None):
        values = self.random.integers(0, 256, shape, dtype="uint8").view(dtype or self.dtype)
        return self.constant(values, name)


def check(maker, inputs, output, folder, apart=0, opset=17, floats=0):
    """One output, the same as ONNX Runtime's; all inputs of the maker's type of integers."""
    name, shape, kind = output
    kinds = {**dict.fromkeys(inputs, maker.kind), name: kind}
    model = maker.model(inputs, {name: shape}, opset, kinds)
    onnx.save(model, folder / "net.onnx")
    values = [
        np.random.default_rng(3).integers(0, 256, extents, dtype="uint8").view(maker.dtype)
        for extents in inputs.values()
    ]
    imported = load(folder / "net.onnx")
    (found,) = run_host(build_host(imported.mod), *values)
    (wanted,) = run(model, *values)
    assert found.dtype == wanted.dtype
    assert len(np.unique(wanted)) > 5
    assert np.abs(found.astype("float64") - wanted.astype("float64")).max() <= apart
    graph = Graph(imported.mod)
    assert [dtype_of(var) for var in graph.order].count("float32") == floats
    return imported


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("operators")


@settings(deadline=None, max_examples=12)
@given(
    kind=st.sampled_from([INT8, UINT8]),
    points=st.tuples(*[st.sampled_from([0, -128, 9])] * 2),
    per_channel=st.booleans(),
    groups=st.sampled_from([1, 2, 4]),
    stride=st.integers(1, 2),
    dilation=st.integers(1, 2),
    pads=st.sampled_from([[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 2]]),
    bias=st.booleans(),
)
def test_qlinear_conv(folder, kind, points, per_channel, groups, stride, dilation, pads, bias):
    m = Quantized(kind)
    w = m.integers("w", 8, 4 // groups, 3, 3, dtype="int8")
    scales = m.random.uniform(0.001, 0.01, 8 if per_channel else ()).astype("float32")
    w_numbers = [
        m.constant(scales, "w_scale"),
        m.constant(np.zeros(scales.shape, "int8"), "w_point"),
    ]
    names = [*m.numbers("x", 0.02, points[0]), w, *w_numbers, *m.numbers("y", 0.07, points[1])]
    if bias:
        names.append(m.constant(m.random.integers(-2000, 2000, 8, dtype="int32"), "b"))
    attrs = {"group": groups, "strides": [stride] * 2, "dilations": [dilation] * 2, "pads": pads}
    m.node("QLinearConv", ["x", *names], "conv", **attrs)
    check(m, {"x": (2, 4, 9, 8)}, ("conv_out", None, kind), folder)


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_automatic_padding(mode, stride, folder):
    m = Quantized(UINT8)
    names = [*m.numbers("x", 0.02, 9), m.integers("w", 8, 4, 3, 2, dtype="int8")]
    w_numbers = [m.constant(np.float32(0.01), "ws"), m.constant(np.int8(0), "wp")]
    names += [*w_numbers, *m.numbers("y", 0.1, 3)]
    m.node("QLinearConv", ["x", *names], "conv", auto_pad=mode, strides=[stride] * 2)
    check(m, {"x": (1, 4, 8, 9)}, ("conv_out", None, UINT8), folder)


@pytest.mark.parametrize("kind", [INT8, UINT8])
@pytest.mark.parametrize("constant", [True, False])
def test_qlinear_matmul(kind, constant, folder):
    m = Quantized(kind)
    inputs = {"a": (3, 5, 12)}
    if constant:
        m.integers("b", 12, 20, dtype="int8" if kind == INT8 else "uint8")
    else:
        inputs["b"] = (3, 12, 20)
    names = ["a", *m.numbers("a", 0.02, 3), "b", *m.numbers("b", 0.03, -5), *m.numbers("y", 0.2, 7)]
    m.node("QLinearMatMul", names, "matmul")
    check(m, inputs, ("matmul_out", (3, 5, 20), kind), folder)


@pytest.mark.parametrize("kind", [INT8, UINT8])
@pytest.mark.parametrize("quantized", [True, False])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_qgemm(kind, quantized, trans_b, folder):
    m = Quantized(kind)
    w = m.integers("w", *((20, 12) if trans_b else (12, 20)), dtype="int8")
    scales = m.random.uniform(0.001, 0.01, 20).astype("float32")
    w_numbers = [m.constant(scales, "ws"), m.constant(np.zeros(20, "int8"), "wp")]
    bias = m.constant(m.random.integers(-2000, 2000, 20, dtype="int32"), "c")
    names = ["x", *m.numbers("x", 0.02, 3), w, *w_numbers, bias]
    names += m.numbers("y", 0.07, 7) if quantized else []
    m.node("QGemm", names, "gemm", MICROSOFT, alpha=0.7, transB=trans_b)
    result = kind if quantized else onnx.TensorProto.FLOAT
    # Sums as floats, scaled and biased: rounded in another order.
    apart = 0 if quantized else 1e-5
    output = ("gemm_out", (6, 20), result)
    check(m, {"x": (6, 12)}, output, folder, apart, floats=0 if quantized else 3)


@pytest.mark.parametrize("kind", [INT8, UINT8])
@pytest.mark.parametrize("op_type", ["QGemm", "QLinearConv"])
def test_sums_wrap_around(op_type, kind, folder):
    """So do biases with the part of the zero point."""
    m = Quantized(kind)
    conv = op_type == "QLinearConv"
    m.integers("w", *((20, 64, 1, 1) if conv else (64, 20)), dtype="int8")
    w_numbers = [m.constant(np.float32(0.03), "ws"), m.constant(np.int8(0), "wp")]
    near = m.random.choice([-1, 1], 20) * (2**31 - 1 - m.random.integers(0, 100_000, 20))
    near[::2] //= m.random.integers(1, 9, 10)
    bias, y_numbers = m.constant(near.astype("int32"), "c"), m.numbers("y", 2e4, 7)
    names = ["x", *m.numbers("x", 0.02, 3), "w", *w_numbers]
    if conv:
        m.node(op_type, [*names, *y_numbers, bias], "layer")
    else:
        m.node(op_type, [*names, bias, *y_numbers], "layer", MICROSOFT)
    shape, wanted = ((1, 64, 6, 1), (1, 20, 6, 1)) if conv else ((6, 64), (6, 20))
    check(m, {"x": shape}, ("layer_out", wanted, kind), folder)


@pytest.mark.parametrize("kind", [INT8, UINT8])
@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("shape", [(1, 4, 5, 6), (1, 4, 1, 1)])
def test_sums_and_products_of_elements(op_type, kind, shape, folder):
    m = Quantized(kind)
    names = [
        "a",
        *m.numbers("a", 0.02, 3),
        "b",
        *m.numbers("b", 0.03, -9),
        *m.numbers("y", 0.04, 5),
    ]
    m.node(op_type, names, "both", MICROSOFT)
    check(m, {"a": (1, 4, 5, 6), "b": shape}, ("both_out", (1, 4, 5, 6), kind), folder)


@pytest.mark.parametrize("kind", [INT8, UINT8])
def test_global_average(kind, folder):
    m = Quantized(kind)
    names = ["x", *m.numbers("x", 0.02, 3), *m.numbers("y", 0.007, 5)]
    m.node("QLinearGlobalAveragePool", names, "pool", MICROSOFT)
    check(m, {"x": (2, 40, 7, 7)}, ("pool_out", (2, 40, 1, 1), kind), folder)


@pytest.mark.parametrize("kind", [INT8, UINT8])
def test_average_of_windows(kind, folder):
    m = Quantized(kind)
    names = ["x", *m.numbers("x", 0.02, 3), *m.numbers("y", 0.017, 5)]
    attrs = {"kernel_shape": [3, 3], "strides": [2, 2]}
    m.node("QLinearAveragePool", names, "pool", MICROSOFT, **attrs)
    # Summed in float32 there.
    check(m, {"x": (1, 8, 9, 9)}, ("pool_out", (1, 8, 4, 4), kind), folder, apart=1)


@pytest.mark.parametrize("kind", [INT8, UINT8])
@pytest.mark.parametrize(
    ("op_type", "attrs"), [("QLinearLeakyRelu", {"alpha": 0.3}), ("QLinearSigmoid", {})]
)
def test_functions_of_one_element(op_type, attrs, kind, folder):
    m = Quantized(kind)
    scale = 0.004 if op_type == "QLinearSigmoid" else 0.05
    names = ["x", *m.numbers("x", 0.04, 3), *m.numbers("y", scale, -120)]
    m.node(op_type, names, "function", MICROSOFT, **attrs)
    check(m, {"x": (1, 300)}, ("function_out", (1, 300), kind), folder)


@pytest.mark.parametrize("kind", [INT8, UINT8])
def test_concatenation(kind, folder):
    m = Quantized(kind)
    names = [
        *m.numbers("y", 0.04, 3),
        "a",
        *m.numbers("a", 0.02, 5),
        "b",
        *m.numbers("b", 0.07, -9),
    ]
    m.node("QLinearConcat", names, "both", MICROSOFT, axis=1)
    check(m, {"a": (1, 4, 5, 6), "b": (1, 3, 5, 6)}, ("both_out", (1, 7, 5, 6), kind), folder)


@pytest.mark.parametrize("op_type", ["ConvInteger", "MatMulInteger"])
def test_integer_sums(op_type, folder):
    m = Quantized(UINT8)
    conv = op_type == "ConvInteger"
    w = m.integers("w", *((8, 4, 3, 3) if conv else (8, 9)), dtype="uint8")
    points = [m.constant(np.uint8(120), "xp"), m.constant(np.uint8(131), "wp")]
    m.node(op_type, ["x", w, *points], "sums")
    shape = (1, 4, 9, 8)
    out = (1, 8, 7, 6) if conv else (1, 4, 9, 9)
    imported = check(m, {"x": shape}, ("sums_out", out, INT32), folder)
    graph = Graph(imported.mod)
    assert ("relax.nn.conv2d" if conv else "relax.matmul") in map(
        op_name, (graph.value[var] for var in graph.order)
    )


@pytest.mark.parametrize("kind", [INT8, UINT8])
@pytest.mark.parametrize(
    ("shape", "attrs"),
    [
        ((40, 30), {"axis": -1, "opset": 13}),
        ((2, 5, 7, 9), {"axis": 1, "opset": 13}),
        ((2, 5, 7, 9), {"axis": 2, "opset": 11}),
        ((3, 5, 40), {"opset": 11}),
        ((30, 300), {"opset": 13}),
    ],
)
def test_softmax(shape, attrs, kind, folder):
    m = Quantized(kind)
    names = ["x", *m.numbers("x", 0.04, 3), *m.numbers("y", 0.004, -128)]
    m.node("QLinearSoftmax", names, "softmax", MICROSOFT, **attrs)
    check(m, {"x": shape}, ("softmax_out", shape, kind), folder)


@pytest.mark.parametrize("kind", [INT8, UINT8])
def test_products_of_a_softmax(kind, folder):
    """As in attention."""
    m = Quantized(kind)
    scores, shares = m.numbers("scores", 0.3), m.numbers("shares", 1 / 256, -128)
    names = ["x", *m.numbers("x", 0.02, 3), "k", *m.numbers("k", 0.03, -5), *scores]
    m.node("QLinearMatMul", names, "scores")
    names = ["scores_out", *scores, *shares]
    m.node("QLinearSoftmax", names, "softmax", MICROSOFT, axis=-1, opset=13)
    names = ["softmax_out", *shares, "v", *m.numbers("v", 0.02, 4), *m.numbers("y", 0.01)]
    m.node("QLinearMatMul", names, "values")
    inputs = {"x": (2, 6, 12), "k": (2, 12, 9), "v": (2, 9, 12)}
    check(m, inputs, ("values_out", (2, 6, 12), kind), folder)


FLOATS = {
    "conv1d": lambda m: m.node("Conv", ["x", m.weight(6, 4, 3, name="w")], "y", pads=[1, 1]),
    "leaky": lambda m: m.node("LeakyRelu", ["x"], "y", alpha=0.1),
    "clip": lambda m: m.node("Clip", ["x", "", m.constant(np.float32(0.5), "c")], "y"),
    "clip below": lambda m: m.node("Clip", ["x", m.constant(np.float32(0), "c")], "y"),
    "constant": lambda m: m.node(
        "Mul",
        ["x", m.node("Constant", [], "c", value=onnx.numpy_helper.from_array(np.float32(3)))],
        "y",
    ),
    "hard swish": lambda m: m.node("HardSwish", ["x"], "y"),
    "softmax": lambda m: m.node("Softmax", ["x"], "y", axis=1),
}


@pytest.mark.parametrize("name", FLOATS)
def test_float_operators(name, folder):
    m = Maker()
    FLOATS[name](m)
    model = m.model({"x": (2, 4, 11)}, {"y_out": None})
    onnx.save(model, folder / "float.onnx")
    imported = load(folder / "float.onnx")
    assert not imported.integer
    value = np.random.default_rng(0).normal(size=(2, 4, 11)).astype("float32")
    (found,) = run_host(build_host(imported.mod), value)
    np.testing.assert_allclose(found, run(model, value)[0], rtol=1e-4, atol=1e-5)
