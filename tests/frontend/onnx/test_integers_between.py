"""Operators that files have on int8 or uint8 themselves, between quantize and dequantize."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_layers import saved  # noqa: E402
from onnx_models import Maker, run  # noqa: E402

from npu_target.frontend import load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402

# The operator, its attributes, its other inputs: integers of the file's type, or of their own.
OPERATORS = {
    "pad": ("Pad", {}, [np.array([0, 0, 1, 1, 0, 0, 1, 2]), 7]),
    "linear resize": ("Resize", {"mode": "linear"}, ["", np.array([1, 1, 2, 2], "float32")]),
    "nearest resize": ("Resize", {"mode": "nearest"}, ["", np.array([1, 1, 2, 2], "float32")]),
    "maximum": ("Max", {}, [9]),
    "bounds": ("Clip", {}, [1, 99]),
    "choice": ("Where", {}, [np.arange(6) % 2 == 0, 9]),
    "largest": ("ReduceMax", {"axes": [2], "keepdims": 1}, []),
    "joined with a constant": ("Concat", {"axis": 1}, [np.full((1, 1, 5, 6), 9)]),
    "pool": ("MaxPool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, []),
    "transpose": ("Transpose", {"perm": [0, 2, 3, 1]}, []),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_integers_are_those_of_the_file(kind, name, tmp_path):
    op_type, attrs, others = OPERATORS[name]
    maker = Maker()
    maker.constant(np.float32(0.1), "scale")
    maker.constant(np.array(3, kind), "point")
    value = maker.node("QuantizeLinear", ["image", "scale", "point"], "quantize")
    inputs = [value]
    for index, other in enumerate(others):
        if isinstance(other, str):
            inputs.append(other)
            continue
        array = np.asarray(other)
        own = array.ndim == 0 or op_type == "Concat"
        inputs.append(maker.constant(array.astype(kind) if own else array, f"other{index}"))
    if op_type == "Where":
        inputs[:2] = inputs[1::-1]
    made = maker.node(op_type, inputs, "operator", **attrs)
    real = maker.node("DequantizeLinear", [made, "scale", "point"], "dequantize")
    model = maker.model({"image": (1, 3, 5, 6)}, {real: None}, opset=17)
    image = np.random.default_rng(0).normal(0, 8, (1, 3, 5, 6)).astype("float32")
    (wanted,) = run(model, image, optimized=False)
    (found,) = run_host(build_host(load(saved(model, tmp_path)).mod), image)
    assert len(np.unique(wanted)) > 8
    np.testing.assert_array_equal(found, wanted)
