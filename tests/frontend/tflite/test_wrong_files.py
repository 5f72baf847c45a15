"""Files that are no networks, or damaged ones, end in a message."""

import numpy as np
import pytest
from tflite_models import Op, T, compare, imported, model, one_operator, tflite
from tflite_networks import i32, small_network

from npu_target.frontend import FrontendError, load


def test_the_small_network_is_sound(tmp_path):
    network = imported(small_network(), tmp_path)
    assert network.outputs[0].shape == (1, 5, 1)


@pytest.mark.parametrize("length", [0, 3, 7])
def test_what_is_too_short(tmp_path, length):
    with pytest.raises(FrontendError, match=r"is no \.tflite file"):
        imported(small_network()[:length], tmp_path)


def test_another_kind_of_file(tmp_path):
    with pytest.raises(FrontendError, match=r"is no \.tflite file"):
        imported(b"\x89PNG\r\n\x1a\n" * 100, tmp_path)


def test_a_file_that_is_cut_off(tmp_path):
    content = small_network()
    with pytest.raises(FrontendError, match="damaged"):
        imported(content[: len(content) // 2], tmp_path)


def test_without_the_package(tmp_path, monkeypatch):
    (tmp_path / "net.tflite").write_bytes(small_network())
    monkeypatch.setitem(__import__("sys").modules, "tflite", None)
    with pytest.raises(FrontendError, match=r"pip install 'npu_target\[tflite\]'"):
        load(tmp_path / "net.tflite")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("LSTM", r"operator 0 \(LSTM; makes 'tensor/1' of 'tensor/0'\): this kind of operator"),
        ("custom TFLite_Detection_PostProcess", r"operator 0 \(custom TFLite_Detection_PostP"),
    ],
)
def test_operators_that_nobody_knows(tmp_path, kind, message):
    tensors = [T((4,), scale=0.1), T((4,), scale=0.1)]
    with pytest.raises(FrontendError, match=message):
        imported(model(tensors, [Op(kind, [0], [1])], [0], [1]), tmp_path)


def test_of_two_codes_of_an_operator_the_larger_counts(tmp_path):
    """The older field says RELU_N1_TO_1, the newer TANH."""
    tensors = [T((1, 256), scale=0.01, zero_point=-97)], [T((1, 256), scale=1 / 128)]
    content = bytearray(one_operator("TANH", *tensors))
    code = tflite.Model.GetRootAs(content, 0).OperatorCodes(0)
    content[code._tab.Offset(4) + code._tab.Pos] = tflite.BuiltinOperator.RELU_N1_TO_1
    compare(bytes(content), tmp_path)


@pytest.mark.parametrize(("dtype", "lowest"), [("uint8", 0), ("int8", -128)])
def test_a_softmax_has_the_numbers_of_its_kernel(dtype, lowest, tmp_path):
    operand, numbers = T((1, 8), dtype, 0.1), ((1 / 256, lowest + 3), (1 / 128, lowest))
    message = f"must have the scale 1/256 and the zero point {lowest}"
    for result in (T((1, 8), dtype, *pair) for pair in numbers):
        content = one_operator("SOFTMAX", [operand], [result], "SoftmaxOptions", Beta=1.0)
        with pytest.raises(FrontendError, match=message):
            imported(content, tmp_path)


def test_a_softmax_of_long_rows_is_refused(tmp_path):
    operand, result = T((1, 4096), scale=0.1), T((1, 4096), scale=1 / 256, zero_point=-128)
    content = one_operator("SOFTMAX", [operand], [result], "SoftmaxOptions", Beta=1.0)
    with pytest.raises(FrontendError, match="rows have 4096 elements, 4095 are possible"):
        imported(content, tmp_path)


def test_a_slice_of_nothing_is_refused(tmp_path):
    operand, result = T((4, 6), scale=0.1), T((4, 2), scale=0.1)
    bounds = [i32(0, 255), i32(4, 3), i32(1, 1)]
    content = one_operator(
        "STRIDED_SLICE", [operand, *bounds], [result], "StridedSliceOptions", NewAxisMask=0
    )
    with pytest.raises(FrontendError, match=r"of an operand of shape \(4, 6\) it takes nothing"):
        imported(content, tmp_path)


def test_a_softmax_of_a_scalar_is_refused(tmp_path):
    operand, result = T((), scale=0.1), T((), scale=1 / 256, zero_point=-128)
    content = one_operator("SOFTMAX", [operand], [result], "SoftmaxOptions", Beta=1.0)
    with pytest.raises(FrontendError, match="its operand has no axis"):
        imported(content, tmp_path)


def test_zero_points_of_weights_of_a_float_network_are_checked(tmp_path):
    weight = T.of(np.ones((3, 4), np.int8), scale=0.1, zero_point=200)
    tensors = [T((2, 4), "float32"), weight], [T((2, 3), "float32")]
    content = one_operator("FULLY_CONNECTED", *tensors, "FullyConnectedOptions")
    with pytest.raises(FrontendError, match="must be from -128 to 127, got 200"):
        imported(content, tmp_path)


def test_a_resize_of_integers_without_a_scale_is_refused(tmp_path):
    tensors = [T((1, 2, 2, 1)), i32(3, 3)], [T((1, 3, 3, 1))]
    content = one_operator("RESIZE_BILINEAR", *tensors, "ResizeBilinearOptions")
    with pytest.raises(FrontendError, match="float32, not of int8 without a scale"):
        imported(content, tmp_path)


def relu(operand, result=None):
    return one_operator("RELU", [operand], [result or operand])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (relu(T((4,), scale=0.0)), "scale must be positive"),
        (relu(T((4,), scale=float("nan"))), "scale must be positive"),
        (relu(T((4,), scale=0.1, zero_point=128)), "must be from -128 to 127, got 128"),
        (relu(T((4,), "uint8", 0.1, -1)), "must be from 0 to 255, got -1"),
        (relu(T((4,), scale=[0.1] * 4)), "for single channels"),
        (relu(T((1 << 20, 1 << 20), scale=0.1)), "too large"),
        (relu(T((4,), scale=0.1), T((5,), scale=0.1)), r"of shape \(4,\), the file says \(5,\)"),
        (relu(T((4,), "float32"), T((4,), "int32")), "is float32, the file says int32"),
        (
            one_operator(
                "ADD",
                [T((2,), "float32"), T.of(np.array([1, np.nan], np.float32))],
                [T((2,), "float32")],
                "AddOptions",
            ),
            "not a number",
        ),
        (
            one_operator("ADD", [T((4,)), T((4,))], [T((4,))], "MulOptions"),
            "are no AddOptions",
        ),
        (
            model([T((4,), scale=0.1)] * 2, [Op("RELU", [1], [1])], [0], [1]),
            "is read before it is computed",
        ),
        (
            model([T((4,), scale=0.1)] * 2, [Op("RELU", [0], [0])], [0], [0]),
            "is there already",
        ),
        (model([T((4,), scale=0.1)] * 2, [], [0], [1]), "is computed by no operator"),
        (model([T((4,), scale=0.1)] * 2, [Op("ADD", [0, 0], [1])], [0, 0], [1]), "share a name"),
        (model([T((4,), scale=0.1)] * 2, [Op("RELU", [7], [1])], [0], [1]), "tensor 7 is asked"),
    ],
)
def test_networks_that_cannot_be(tmp_path, content, message):
    with pytest.raises(FrontendError, match=message):
        imported(content, tmp_path)


@pytest.mark.parametrize(
    "function",
    [
        "file._Reader._tensor",
        "operators.convolution.window_of",
        "reader._identifier",
        "reader.shape_of",
    ],
)
def test_errors_of_our_own_stay_what_they_are(tmp_path, monkeypatch, function):
    def broken(*arguments):
        raise AssertionError("ours") if function.startswith("file") else TypeError("ours")

    monkeypatch.setattr(f"npu_target.frontend.tflite.{function}", broken)
    with pytest.raises((TypeError, AssertionError), match="ours"):
        imported(small_network(), tmp_path)
