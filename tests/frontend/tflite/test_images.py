"""Pools, means, borders, resized and joined images are what TFLite's reference kernels compute."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tflite_models import T, compare, imported, numbers, one_operator

from npu_target.frontend import FrontendError

FEW = settings(max_examples=5)
SEEDS = st.integers(0, 2**32 - 1)
BYTES = st.sampled_from(["int8", "uint8"])
PADS = T.of(np.array([[0, 0], [1, 2], [0, 3], [0, 1]], np.int32))


@settings(max_examples=8)
@given(
    seed=SEEDS,
    kind=st.sampled_from(["AVERAGE_POOL_2D", "MAX_POOL_2D"]),
    window=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    same=st.booleans(),
    fused=st.sampled_from([0, 1, 2, 3]),
    dtype=BYTES,
)
def test_pools(tmp_path_factory, seed, kind, window, strides, same, fused, dtype):
    alike = numbers(np.random.default_rng(seed), dtype)
    sizes = [
        -(-n // s) if same else (n - k) // s + 1
        for n, k, s in zip((9, 8), window, strides, strict=True)
    ]
    content = one_operator(
        kind,
        [T((2, 9, 8, 5), **alike)],
        [T((2, *sizes, 5), **alike)],
        "Pool2DOptions",
        Padding=0 if same else 1,
        StrideH=strides[0],
        StrideW=strides[1],
        FilterHeight=window[0],
        FilterWidth=window[1],
        FusedActivationFunction=fused,
    )
    compare(content, tmp_path_factory.mktemp("net"))


@settings(max_examples=8)
@given(
    seed=SEEDS,
    axes=st.sampled_from([(1, 2), (2, 1), (1,), (3,), (0, 1, 2, 3), (-1,), (0, 2)]),
    shape=st.sampled_from([(2, 7, 9, 5), (1, 8, 8, 3), (3, 1, 31, 2)]),
    keep=st.booleans(),
    dtype=BYTES,
)
def test_means(tmp_path_factory, seed, axes, shape, keep, dtype):
    random = np.random.default_rng(seed)
    made = np.empty(shape).mean(axes, keepdims=keep).shape
    operand = numbers(random, dtype)
    result = numbers(random, dtype)
    result["scale"] = float(np.float32(operand["scale"] * random.uniform(0.05, 2)))
    content = one_operator(
        "MEAN",
        [T(shape, **operand), T.of(np.array(axes, np.int32))],
        [T(made, **result)],
        "ReducerOptions",
        KeepDims=keep,
    )
    compare(content, tmp_path_factory.mktemp("net"))


def test_a_largest_of_axes(tmp_path):
    alike = {"scale": 0.1, "zero_point": 4}
    operands = [T((2, 7, 9, 5), **alike), T.of(np.array([1, 3], np.int32))]
    content = one_operator(
        "REDUCE_MAX", operands, [T((2, 9), **alike)], "ReducerOptions", KeepDims=False
    )
    compare(content, tmp_path)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("kind", ["PAD", "PADV2", "MIRROR_PAD"])
def test_pads(tmp_path, kind, dtype):
    alike = numbers(np.random.default_rng(0), dtype)
    operands = [T((1, 4, 5, 6), **alike), PADS]
    if kind == "PADV2":
        worth = {name: alike[name] for name in ("scale", "zero_point")}
        operands.append(T.of(np.array([17], dtype), **worth))
    result = T((1, 7, 8, 7), **alike)
    compare(one_operator(kind, operands, [result], _PAD_TABLES[kind]), tmp_path)


_PAD_TABLES = {"PAD": "PadOptions", "PADV2": "PadV2Options", "MIRROR_PAD": "MirrorPadOptions"}


def test_a_symmetric_pad(tmp_path):
    content = one_operator(
        "MIRROR_PAD",
        [T((1, 4, 5, 6), scale=0.1), PADS],
        [T((1, 7, 8, 7), scale=0.1)],
        "MirrorPadOptions",
        Mode=1,
    )
    compare(content, tmp_path)


@settings(max_examples=8)
@given(
    kind=st.sampled_from(["ResizeBilinear", "ResizeNearestNeighbor"]),
    modes=st.sampled_from([(False, False), (True, False), (False, True)]),
    taken=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    size=st.tuples(st.integers(1, 13), st.integers(1, 13)),
    dtype=st.sampled_from(["int8", "float32"]),
)
def test_resizes(tmp_path_factory, kind, modes, taken, size, dtype):
    alike = {"dtype": dtype, "scale": None if dtype == "float32" else 0.1}
    content = one_operator(
        {"ResizeBilinear": "RESIZE_BILINEAR"}.get(kind, "RESIZE_NEAREST_NEIGHBOR"),
        [T((2, *taken, 3), **alike), T.of(np.array(size, np.int32))],
        [T((2, *size, 3), **alike)],
        f"{kind}Options",
        AlignCorners=modes[0],
        HalfPixelCenters=modes[1],
    )
    compare(content, tmp_path_factory.mktemp("net"), tolerance=1e-4)


@FEW
@given(seed=SEEDS, dtype=BYTES, axis=st.sampled_from([1, 3, -1]))
def test_concatenation(tmp_path_factory, seed, dtype, axis):
    alike = numbers(np.random.default_rng(seed), dtype)
    shapes = [[2, 4, 5, 6] for _ in range(3)]
    for shape, size in zip(shapes, (1, 3, 4), strict=True):
        shape[axis] = size
    operands = [T(tuple(shape), **alike) for shape in shapes[:2]]
    content = one_operator(
        "CONCATENATION",
        operands,
        [T(tuple(shapes[2]), **alike)],
        "ConcatenationOptions",
        Axis=axis,
    )
    compare(content, tmp_path_factory.mktemp("net"))


@FEW
@given(seed=SEEDS)
def test_concatenation_of_other_scales(tmp_path_factory, seed):
    """TFLite's kernels bring operands to one scale of uint8 only."""
    random = np.random.default_rng(seed)
    operands = [T((4, 300), **numbers(random, "uint8")) for _ in range(2)]
    result = T((4, 600), **numbers(random, "uint8"))
    content = one_operator("CONCATENATION", operands, [result], "ConcatenationOptions", Axis=1)
    compare(content, tmp_path_factory.mktemp("net"))


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"StrideH": 0}, "strides"),
        ({"FilterWidth": 0}, "size"),
        ({"FilterWidth": 9}, "does not fit"),
        ({"FusedActivationFunction": 4}, "fused activation 4"),
        ({"Padding": 7}, "neither SAME nor VALID"),
    ],
)
def test_wrong_windows_are_refused(tmp_path, kind, changed, message):
    options = {"Padding": 1, "StrideH": 1, "StrideW": 1, "FilterHeight": 1, "FilterWidth": 1}
    tensors = [T((1, 5, 5, 4), scale=0.1)]
    content = one_operator(kind, tensors, tensors, "Pool2DOptions", **options | changed)
    with pytest.raises(FrontendError, match=message):
        imported(content, tmp_path)
