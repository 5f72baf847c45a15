"""Wrong .onnx files: each message says where, and what to do."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import numpy_helper  # noqa: E402
from onnx_models import Maker  # noqa: E402

from npu_target.frontend import FrontendError, load  # noqa: E402
from npu_target.frontend.onnx.normalize.quantized import RULES  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402


def convolution(**attrs):
    m = Maker()
    m.conv("x", 3, 4, 3, "conv", **attrs)
    return m.model({"x": (1, 3, 8, 8)}, {"conv_out": None})


def quantizing(scale=0.1, weight_scale=0.1, weight_axis=0):
    """A product of a quantized input and a quantized weight (5 inputs, 4 outputs)."""
    m = Maker()
    names = [m.constant(np.float32(scale), "scale"), m.constant(np.int8(0), "point")]
    x = m.node("DequantizeLinear", [m.node("QuantizeLinear", ["x", *names], "q"), *names], "dq")
    scales = np.asarray(weight_scale, "float32")
    w_names = [m.constant(scales, "ws"), m.constant(np.zeros(scales.shape, "int8"), "wp")]
    w = m.constant(np.ones((5, 4), "int8"), "w")
    w = m.node("DequantizeLinear", [w, *w_names], "w_dq", axis=weight_axis)
    m.node("QuantizeLinear", [m.node("MatMul", [x, w], "mm"), *names], "y")
    return m.model({"x": (2, 5)}, {"y_out": None}, types={"y_out": onnx.TensorProto.INT8})


def refused(model, folder, match, shapes=None):
    data = model if isinstance(model, bytes) else model.SerializeToString()
    (folder / "net.onnx").write_bytes(data)
    with pytest.raises(FrontendError, match=match) as caught:
        load(folder / "net.onnx", shapes)
    assert "net.onnx" in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"PK\3\4", b"\0" * 100, b"hello world", b"\x08\x07"])
def test_not_a_model(data, tmp_path):
    refused(data, tmp_path, "not an ONNX model")


def test_a_cut_file(tmp_path):
    refused(convolution().SerializeToString()[:-100], tmp_path, "cut off")


def test_an_unknown_operator(tmp_path):
    m = Maker()
    m.node("Relu", ["x"], "first")
    m.node("Frobnicate", ["first_out"], "second")
    message = r"node 'second' \(Frobnicate\), number 1: an operator that is not known"
    refused(m.model({"x": (2, 3)}, {"second_out": None}), tmp_path, message)


def test_an_unknown_domain(tmp_path):
    m = Maker()
    m.node("Relu", ["x"], "node", "acme.ai")
    refused(m.model({"x": (2, 3)}, {"node_out": None}), tmp_path, "of domain 'acme.ai'")


@pytest.mark.parametrize("opset", [1, 6, 999])
def test_an_unknown_opset(opset, tmp_path):
    model = convolution()
    model.opset_import[0].version = opset
    refused(model, tmp_path, f"opset {opset}; from 7 to")


def test_control_flow(tmp_path):
    m = Maker()
    branch = onnx.helper.make_graph([], "branch", [], [])
    m.node("If", ["x"], "choice", then_branch=branch, else_branch=branch)
    refused(m.model({"x": (1,)}, {"choice_out": None}), tmp_path, "control flow")


def test_open_shapes(tmp_path):
    m = Maker()
    m.node("Relu", ["x"], "relu")
    model = m.model({"x": ("N", 3)}, {"relu_out": None})
    refused(model, tmp_path, r"the shape of input 'x' is open, \[N, 3\]; fix it by --shape x=1,3")
    refused(model, tmp_path, "no input is called 'y'; its inputs: x", {"y": (1, 3)})
    refused(model, tmp_path, r"is \[N, 3\] in the file, which \(1, 4\) does not fit", {"x": (1, 4)})
    refused(model, tmp_path, r"which \(0, 3\) does not fit", {"x": (0, 3)})
    imported = load(tmp_path / "net.onnx", {"x": (5, 3)})
    assert imported.inputs[0].shape == imported.outputs[0].shape == (5, 3)


def test_initializers_among_the_inputs(tmp_path):
    model = convolution()
    for tensor in model.graph.initializer:
        info = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        model.graph.input.append(info)
    onnx.save(model, tmp_path / "net.onnx")
    assert [info.name for info in load(tmp_path / "net.onnx").inputs] == ["x"]


def test_weights_that_are_not_numbers(tmp_path):
    model = convolution()
    weight = numpy_helper.to_array(model.graph.initializer[0]).copy()
    weight[0, 0, 0, 0] = np.nan
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight, "conv.weight"))
    refused(model, tmp_path, "tensor 'conv.weight': some of its values are not numbers")


def test_a_tensor_that_is_not_as_long_as_it_says(tmp_path):
    model = convolution()
    model.graph.initializer[0].dims[0] = 2**31
    refused(model, tmp_path, "takes 231928233984 bytes, there are 432")


def test_results_that_make_no_sense(tmp_path):
    m = Maker()
    shape = m.constant(np.array([2**20, 2**20, 3]), "shape")
    m.node("Expand", ["x", shape], "wide")
    refused(m.model({"x": (3,)}, {"wide_out": None}), tmp_path, "makes no sense")


@pytest.mark.parametrize(
    "attrs",
    [
        {"strides": [0, 1]},
        {"dilations": [1, 0]},
        {"pads": [-1, 0, 0, 0]},
        {"pads": [2**20, 0, 0, 0]},
        {"group": 0},
        {"group": 2},
    ],
)
def test_wrong_attributes(attrs, tmp_path):
    model = convolution()
    (node,) = model.graph.node
    kept = [item for item in node.attribute if item.name not in attrs]
    del node.attribute[:]
    node.attribute.extend(kept)
    node.attribute.extend(onnx.helper.make_attribute(*item) for item in attrs.items())
    refused(model, tmp_path, "conv|stride|pads|not a valid ONNX model")


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_wrong_scales(scale, tmp_path):
    message = "NaN" if np.isnan(scale) else "'scale' must be positive and finite"
    refused(quantizing(scale), tmp_path, message)


def test_zero_points_of_another_type(tmp_path):
    model = quantizing()
    point = numpy_helper.from_array(np.array(0, "uint8"), "wp")
    next(t for t in model.graph.initializer if t.name == "wp").CopyFrom(point)
    refused(model, tmp_path, "w_dq|type")


@pytest.mark.parametrize(
    ("scales", "axis"), [(np.full(4, 0.1), 0), (np.full(5, 0.1), 1), (np.full(4, 0.1), 2)]
)
def test_scales_along_another_axis(scales, axis, tmp_path):
    message = f"{len(scales)} scales do not belong to axis {axis} of shape|axis"
    refused(quantizing(weight_scale=scales, weight_axis=axis), tmp_path, message)


def test_scales_that_are_computed(tmp_path):
    m = Maker()
    q = m.constant(np.ones((4, 4), "uint8"), "w")
    one = [m.constant(np.float32(1), "s"), m.constant(np.uint8(0), "z")]
    m.nodes.append(onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"], "dyn"))
    m.node("QLinearMatMul", ["xq", "xs", "xz", q, *one, *one], "mm")
    model = m.model({"x": (2, 4)}, {"mm_out": None}, types={"mm_out": onnx.TensorProto.UINT8})
    refused(model, tmp_path, r"node 'mm' \(QLinearMatMul\): 'xs', .*is computed at run time")


def external(folder):
    onnx.save(
        convolution(),
        folder / "net.onnx",
        save_as_external_data=True,
        location="net.bin",
        size_threshold=0,
    )
    return folder / "net.onnx"


def test_external_data(tmp_path):
    path = external(tmp_path)
    value = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype("float32")
    (found,) = run_host(build_host(load(path).mod), value)
    onnx.save(convolution(), path)
    (wanted,) = run_host(build_host(load(path).mod), value)
    np.testing.assert_array_equal(found, wanted)


def test_external_data_that_is_missing_or_short(tmp_path):
    path = external(tmp_path)
    data = (tmp_path / "net.bin").read_bytes()
    (tmp_path / "net.bin").write_bytes(data[:40])
    refused(path.read_bytes(), tmp_path, "of net.bin, which has 40")
    (tmp_path / "net.bin").unlink()
    refused(path.read_bytes(), tmp_path, "its data is in net.bin, which is not there")


@pytest.mark.parametrize("location", ["../net.bin", "/etc/passwd", ""])
def test_external_data_elsewhere(location, tmp_path):
    path = external(tmp_path)
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[0].external_data[0].value = location
    refused(model, tmp_path, "must lie beside the model")


def test_one_name_for_two_values(tmp_path):
    model = convolution()
    model.graph.node.append(model.graph.node[0])
    refused(model, tmp_path, "not a valid ONNX model")


@pytest.mark.parametrize(
    "function",
    [
        "file.complete_tensor",
        "importer._named",
        "importer._short_form",
        "normalize.model._rewrite",
        "reader.channels_last",
        "normalize.model.fix_inputs",
    ],
)
def test_errors_of_our_own_stay_what_they_are(tmp_path, monkeypatch, function):
    (tmp_path / "net.onnx").write_bytes(convolution().SerializeToString())
    monkeypatch.setattr(f"npu_target.frontend.onnx.{function}", broken)
    with pytest.raises(TypeError, match="ours"):
        load(tmp_path / "net.onnx")


def broken(*arguments, **options):
    raise TypeError("ours")


@pytest.mark.parametrize(
    ("kind", "inputs", "message"),
    [
        ("QLinearAdd", ["x", "s", "z", "x", "s"], "it has 5 inputs, 7 are needed"),
        ("QLinearConcat", ["s", "z", "x", "s", "z", "x"], "its zero point is missing"),
    ],
)
def test_quantized_operators_with_too_few_inputs(tmp_path, kind, inputs, message):
    m = Maker()
    m.constant(np.float32(0.1), "s")
    m.constant(np.int8(0), "z")
    m.node(kind, inputs, "sum", domain="com.microsoft")
    types = dict.fromkeys(("x", "sum_out"), onnx.TensorProto.INT8)
    refused(m.model({"x": (2, 5)}, {"sum_out": None}, types=types), tmp_path, message)


def test_errors_of_our_own_rules_stay_what_they_are(tmp_path, monkeypatch):
    key = ("", "QLinearMatMul")
    monkeypatch.setitem(RULES, key, (broken, 0))
    m = Maker()
    m.node("QLinearMatMul", ["x"], "product")
    (tmp_path / "net.onnx").write_bytes(
        m.model({"x": (2, 5)}, {"product_out": None}).SerializeToString()
    )
    with pytest.raises(TypeError, match="ours"):
        load(tmp_path / "net.onnx")


def test_a_constant_without_its_value_is_refused(tmp_path):
    m = Maker()
    m.node("Constant", [], "c", value=numpy_helper.from_array(np.ones(5, "float32")))
    m.node("Add", ["x", "c_out"], "sum")
    model = m.model({"x": (2, 5)}, {"sum_out": None})
    model.graph.node[0].attribute[0].type = onnx.AttributeProto.UNDEFINED
    refused(model, tmp_path, r"net\.onnx: ")


def test_attributes_of_other_types_are_refused(tmp_path):
    m = Maker()
    m.node("Constant", [], "c", value=numpy_helper.from_array(np.ones(5, "float32")))
    m.node("Add", ["x", "c_out"], "sum")
    model = m.model({"x": (2, 5)}, {"sum_out": None})
    attribute = model.graph.node[0].attribute[0]
    attribute.CopyFrom(onnx.helper.make_attribute("value", [1, 2]))
    refused(model, tmp_path, r"'c' \(Constant\): value must be of type TENSOR")


def test_a_graph_in_a_quantized_operator_is_refused(tmp_path):
    m = Maker()
    m.node("QGemm", ["x"] * 6, "product", domain="com.microsoft", alpha=1.0)
    model = m.model({"x": (2, 5)}, {"product_out": None})
    attribute = model.graph.node[0].attribute[0]
    attribute.type = onnx.AttributeProto.GRAPH
    attribute.g.name = "inner"
    refused(model, tmp_path, "control flow is not supported")
    attribute.CopyFrom(onnx.helper.make_attribute("alpha", [1, 2]))
    refused(model, tmp_path, "alpha must be of type FLOAT")


@pytest.mark.parametrize("shape", [(), (5,)])
def test_a_pool_of_no_images_is_refused(tmp_path, shape):
    m = Maker()
    m.node("GlobalAveragePool", ["x"], "pool")
    model = m.model({"x": shape}, {"pool_out": shape})
    refused(model, tmp_path, "images of batch")
