"""Operators that work element by element are what TFLite's reference kernels compute."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tflite_models import T, compare, compare_table, imported, numbers, one_operator

from npu_target.frontend import FrontendError

FEW = settings(max_examples=5)
SEEDS = st.integers(0, 2**32 - 1)
FUSED = st.sampled_from([0, 1, 2, 3])
BYTES = st.sampled_from(["int8", "uint8"])
MANY = settings(max_examples=40)
EVERY = (1, 256)  # all numbers of 8 bits
ALL = (4, 300)  # all of them, most likely


@FEW
@given(
    seed=SEEDS,
    kind=st.sampled_from(["ADD", "SUB", "MUL"]),
    shapes=st.sampled_from(
        [
            ((2, 4, 5, 6), (2, 4, 5, 6)),
            ((2, 4, 5, 6), (6,)),
            ((2, 4, 5, 6), (1, 1, 1, 1)),
            ((2, 1, 5, 6), (4, 5, 1)),
            ((1, 1, 6), (2, 5, 6)),
        ]
    ),
    constant=st.booleans(),
    fused=FUSED,
    dtype=BYTES,
)
def test_sums_and_products(tmp_path_factory, seed, kind, shapes, constant, fused, dtype):
    random = np.random.default_rng(seed)
    left, right = (T(shape, **numbers(random, dtype)) for shape in shapes)
    if constant:
        data = random.integers(0, 120, shapes[1]).astype(dtype)
        right = T.of(data, scale=right.scale, zero_point=right.zero_point)
    scale = left.scale * right.scale * 60 if kind == "MUL" else max(left.scale, right.scale) * 1.4
    scale = float(np.float32(scale))
    result = T(np.broadcast_shapes(*shapes), **numbers(random, dtype) | {"scale": scale})
    table = f"{kind.capitalize()}Options"
    content = one_operator(kind, [left, right], [result], table, FusedActivationFunction=fused)
    compare(content, tmp_path_factory.mktemp("net"))


@FEW
@given(seed=SEEDS, kind=st.sampled_from(["MAXIMUM", "MINIMUM"]), dtype=BYTES)
def test_extremes(tmp_path_factory, seed, kind, dtype):
    alike = numbers(np.random.default_rng(seed), dtype)
    left, right, result = (T(shape, **alike) for shape in ((4, 5, 6), (5, 1), (4, 5, 6)))
    content = one_operator(kind, [left, right], [result], "MaximumMinimumOptions")
    compare(content, tmp_path_factory.mktemp("net"))


@MANY
@given(seed=SEEDS, kind=st.sampled_from(["LOGISTIC", "TANH"]), dtype=BYTES)
def test_sigmoid_and_tanh(tmp_path_factory, seed, kind, dtype):
    random = np.random.default_rng(seed)
    least = np.iinfo(dtype).min
    steps, zero_point = (256, least) if kind == "LOGISTIC" else (128, least + 128)
    result = T(EVERY, dtype, 1 / steps, zero_point)
    content = one_operator(kind, [T(EVERY, **numbers(random, dtype))], [result])
    compare_table(content, tmp_path_factory.mktemp("net"))


@MANY
@given(seed=SEEDS, finer=st.floats(1.0, 60.0), dtype=BYTES)
def test_hard_swish(tmp_path_factory, seed, finer, dtype):
    random = np.random.default_rng(seed)
    operand, result = numbers(random, dtype), numbers(random, dtype)
    result["scale"] = float(np.float32(operand["scale"] / 64 * finer))
    content = one_operator("HARD_SWISH", [T(EVERY, **operand)], [T(EVERY, **result)])
    compare_table(content, tmp_path_factory.mktemp("net"))


@FEW
@given(
    seed=SEEDS,
    kind=st.sampled_from(["RELU", "RELU6", "RELU_N1_TO_1"]),
    same=st.booleans(),
    dtype=BYTES,
)
def test_relu(tmp_path_factory, seed, kind, same, dtype):
    random = np.random.default_rng(seed)
    operand = numbers(random, dtype)
    result = operand if same else numbers(random, dtype)
    content = one_operator(kind, [T(ALL, **operand)], [T(ALL, **result)])
    compare(content, tmp_path_factory.mktemp("net"))


@MANY
@given(seed=SEEDS, alpha=st.floats(0.0, 0.875, width=32), dtype=BYTES)
def test_leaky_relu(tmp_path_factory, seed, alpha, dtype):
    random = np.random.default_rng(seed)
    operand, result = numbers(random, dtype), numbers(random, dtype)
    content = one_operator(
        "LEAKY_RELU", [T(EVERY, **operand)], [T(EVERY, **result)], "LeakyReluOptions", Alpha=alpha
    )
    compare_table(content, tmp_path_factory.mktemp("net"))


@FEW
@given(seed=SEEDS, dtype=BYTES)
def test_prelu(tmp_path_factory, seed, dtype):
    random = np.random.default_rng(seed)
    shape, worth = (1, 4, 5, 30), numbers(random, dtype)
    slopes = T.of(
        random.integers(0, 120, (1, 1, 30)).astype(dtype),
        scale=0.008,
        zero_point=worth["zero_point"],
    )
    content = one_operator(
        "PRELU", [T(shape, **numbers(random, dtype)), slopes], [T(shape, **worth)]
    )
    compare(content, tmp_path_factory.mktemp("net"))


@MANY
@given(seed=SEEDS, approximate=st.booleans())
def test_gelu(tmp_path_factory, seed, approximate):
    random = np.random.default_rng(seed)
    operand, result = T(EVERY, **numbers(random)), T(EVERY, **numbers(random))
    content = one_operator("GELU", [operand], [result], "GeluOptions", Approximate=approximate)
    compare_table(content, tmp_path_factory.mktemp("net"))


@FEW
@given(
    seed=SEEDS,
    dtypes=st.sampled_from(
        [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")]
    ),
    same=st.booleans(),
)
def test_quantize_from_integers(tmp_path_factory, seed, dtypes, same):
    random = np.random.default_rng(seed)
    operand, result = (numbers(random, dtype) for dtype in dtypes)
    if same:
        result["scale"] = operand["scale"]
    content = one_operator("QUANTIZE", [T(ALL, **operand)], [T(ALL, **result)], "QuantizeOptions")
    compare(content, tmp_path_factory.mktemp("net"))


@FEW
@given(seed=SEEDS, dtype=BYTES, backwards=st.booleans())
def test_quantize_and_dequantize(tmp_path_factory, seed, dtype, backwards):
    random = np.random.default_rng(seed)
    floats, integers = T(ALL, "float32"), T(ALL, **numbers(random, dtype))
    if backwards:
        content = one_operator("DEQUANTIZE", [integers], [floats], "DequantizeOptions")
    else:
        content = one_operator("QUANTIZE", [floats], [integers], "QuantizeOptions")
    compare(content, tmp_path_factory.mktemp("net"))


@FEW
@given(seed=SEEDS, shape=st.sampled_from([(3, 17), (2, 3, 4, 300)]), dtype=BYTES)
def test_softmax(tmp_path_factory, seed, shape, dtype):
    random = np.random.default_rng(seed)
    result = T(shape, dtype, 1 / 256, np.iinfo(dtype).min)
    beta = float(random.uniform(0.5, 2))
    content = one_operator(
        "SOFTMAX", [T(shape, **numbers(random, dtype))], [result], "SoftmaxOptions", Beta=beta
    )
    compare(content, tmp_path_factory.mktemp("net"))


@pytest.mark.parametrize("kind", ["MAXIMUM", "MINIMUM"])
def test_extremes_of_unlike_scales_are_refused(tmp_path, kind):
    tensors = [T((4,), scale=0.1), T((4,), scale=0.2)]
    with pytest.raises(FrontendError, match="another scale"):
        imported(one_operator(kind, tensors, [T((4,), scale=0.1)]), tmp_path)


@pytest.mark.parametrize("kind", ["DIV", "EXP", "SUM"])
def test_what_is_of_floats_only_is_refused(tmp_path, kind):
    tensors = [T((4, 4), scale=0.1), T.of(np.array([1], np.int32))]
    with pytest.raises(FrontendError, match=f"{kind}.*of floats only"):
        imported(one_operator(kind, tensors, [T((4, 4), scale=0.1)]), tmp_path)


def test_16_bits_are_refused(tmp_path):
    tensor = T((4, 4), "int16", 0.1)
    with pytest.raises(FrontendError, match="int8 and uint8 are possible"):
        imported(one_operator("QUANTIZE", [T((4, 4), "float32")], [tensor]), tmp_path)
    with pytest.raises(FrontendError, match=r"int16.*not with 16x8"):
        imported(one_operator("DEQUANTIZE", [tensor], [T((4, 4), "float32")]), tmp_path)
