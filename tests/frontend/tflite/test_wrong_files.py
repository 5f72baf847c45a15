"""Files that are no networks, or damaged ones, end in a message."""

import time

import numpy as np
import pytest
from tflite_models import Op, T, imported, model, one_operator

from npu_target.frontend import FrontendError, load


def i32(*values):
    return T.of(np.array(values, np.int32))


def small_network():
    """A few operators of most families, on an image of 6x6 pixels."""
    random = np.random.default_rng(0)
    image = {"scale": 0.1, "zero_point": 3}

    def weight(*shape, **more):
        return T.of(random.integers(-127, 128, shape, np.int8), **{"scale": 0.01} | more)

    tensors = [
        T((1, 6, 6, 4), name="image", **image),
        weight(4, 3, 3, 4, scale=[0.01] * 4),
        T.of(random.integers(-99, 99, 4, np.int32), scale=[0.001] * 4),
        T((1, 6, 6, 4), **image),
        weight(1, 3, 3, 4, scale=[0.01] * 4, axis=3),
        T((1, 3, 3, 4), **image),
        T((1, 3, 3, 4), **image),
        T((1, 3, 3, 4), **image),
        i32(6, 6),
        T((1, 6, 6, 4), **image),
        T((1, 6, 6, 8), **image),
        T.of(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32)),
        T((1, 8, 8, 8), **image),
        i32(1, 2),
        T((1, 8), scale=0.05),
        weight(5, 8),
        T((1, 5), **image),
        T((1, 5), scale=1 / 256, zero_point=-128),
        i32(1, 5, 1),
        T((1, 5, 1), scale=1 / 256, zero_point=-128),
    ]
    window = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
    halved = {**window, "StrideH": 2, "StrideW": 2, "DepthMultiplier": 1}
    pool = {"StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2}
    ops = [
        Op("CONV_2D", [0, 1, 2], [3], "Conv2DOptions", window),
        Op("DEPTHWISE_CONV_2D", [3, 4, 2], [5], "DepthwiseConv2DOptions", halved),
        Op("MAX_POOL_2D", [3], [6], "Pool2DOptions", pool),
        Op("ADD", [5, 6], [7], "AddOptions", {"FusedActivationFunction": 1}),
        Op("RESIZE_NEAREST_NEIGHBOR", [7, 8], [9], "ResizeNearestNeighborOptions"),
        Op("CONCATENATION", [9, 3], [10], "ConcatenationOptions", {"Axis": 3}),
        Op("PAD", [10, 11], [12], "PadOptions"),
        Op("MEAN", [12, 13], [14], "ReducerOptions", {"KeepDims": False}),
        Op("FULLY_CONNECTED", [14, 15, -1], [16], "FullyConnectedOptions"),
        Op("SOFTMAX", [16], [17], "SoftmaxOptions", {"Beta": 1.0}),
        Op("RESHAPE", [17, 18], [19], "ReshapeOptions"),
    ]
    return model(tensors, ops, [0], [19])


def damaged(content, random):
    """The content with a part cut off, or bits and bytes changed."""
    if random.integers(4) == 0:
        return content[: random.integers(len(content))]
    changed = bytearray(content)
    for _ in range(random.integers(1, 4)):
        at = int(random.integers(len(changed)))
        changed[at] = random.choice([changed[at] ^ 1 << random.integers(8), 0, 255, 128])
    return bytes(changed)


def import_damaged(folder, count, seed):
    """Import so many damaged files; how many became networks, the longest time in seconds."""
    random = np.random.default_rng(seed)
    content = small_network()
    networks, longest = 0, 0.0
    for _ in range(count):
        changed = damaged(content, random)
        start = time.process_time()
        try:
            imported(changed, folder)
            networks += 1
        except FrontendError:
            pass
        longest = max(longest, time.process_time() - start)
    return networks, longest


def test_damaged_files(tmp_path):
    networks, longest = import_damaged(tmp_path, 300, seed=0)
    # Most bits are weights.
    assert 0 < networks < 300
    assert longest < 5


@pytest.mark.slow
def test_many_damaged_files(tmp_path):
    networks, longest = import_damaged(tmp_path, 100_000, seed=1)
    assert 0 < networks < 100_000
    assert longest < 5


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
