"""Operators that move elements, take parts of tensors, and compute shapes."""

from pathlib import Path

import numpy as np
import pytest
from tflite_models import Op, T, compare, imported, model, on_host, one_operator

from npu_target.frontend import FrontendError
from npu_target.frontend.tflite.converters import known_kinds

A = (2, 4, 5, 6)


def i32(*values):
    return T.of(np.array(values, np.int32))


def q(*shape):
    return T(shape, scale=0.1, zero_point=3)


def u(*shape):
    return T(shape, "uint8", 0.1, 7)


CASES = {
    "reshape": ("RESHAPE", [q(*A), i32(2, -1)], [q(2, 120)], "ReshapeOptions", {}),
    "reshape by option": (
        "RESHAPE",
        [q(*A)],
        [q(2, 120)],
        "ReshapeOptions",
        {"NewShape": [2, 120]},
    ),
    "squeeze": ("SQUEEZE", [q(2, 1, 5, 1)], [q(2, 5, 1)], "SqueezeOptions", {"SqueezeDims": [1]}),
    "squeeze all": ("SQUEEZE", [u(2, 1, 5, 1)], [u(2, 5)], "SqueezeOptions", {}),
    "expand": ("EXPAND_DIMS", [q(2, 5), i32(-1)], [q(2, 5, 1)], "ExpandDimsOptions", {}),
    "transpose": ("TRANSPOSE", [u(*A), i32(0, 3, 1, 2)], [u(2, 6, 4, 5)], "TransposeOptions", {}),
    "strided slice": (
        "STRIDED_SLICE",
        [q(*A), i32(0, 1, -4, 2), i32(1, 4, 9, 3), i32(1, 2, 2, 1)],
        [q(2, 2, 2)],
        "StridedSliceOptions",
        {"BeginMask": 1, "EndMask": 1, "ShrinkAxisMask": 8},
    ),
    "strided slice with a new axis": (
        "STRIDED_SLICE",
        [q(4, 6), i32(0, 0, 1), i32(0, 4, 3), i32(1, 1, 1)],
        [q(1, 4, 2)],
        "StridedSliceOptions",
        {"NewAxisMask": 1},
    ),
    "slice": (
        "SLICE",
        [u(*A), i32(0, 1, 2, 0), i32(-1, 2, 3, 1)],
        [u(2, 2, 3, 1)],
        "SliceOptions",
        {},
    ),
    "split": ("SPLIT", [i32(3), q(*A)], [q(2, 4, 5, 2)] * 3, "SplitOptions", {"NumSplits": 3}),
    "split by sizes": (
        "SPLIT_V",
        [q(*A), i32(1, -1, 2), i32(-1)],
        [q(2, 4, 5, 1), q(2, 4, 5, 3), q(2, 4, 5, 2)],
        "SplitVOptions",
        {"NumSplits": 3},
    ),
    "pack": (
        "PACK",
        [q(2, 3), q(2, 3)],
        [q(2, 2, 3)],
        "PackOptions",
        {"ValuesCount": 2, "Axis": 1},
    ),
    "unpack": ("UNPACK", [q(2, 3, 4)], [q(2, 4)] * 3, "UnpackOptions", {"Num": 3, "Axis": 1}),
    "gather": ("GATHER", [q(*A), i32(1, 0, 3)], [q(2, 3, 5, 6)], "GatherOptions", {"Axis": 1}),
    "depth to space": (
        "DEPTH_TO_SPACE",
        [q(2, 3, 4, 8)],
        [q(2, 6, 8, 2)],
        "DepthToSpaceOptions",
        {"BlockSize": 2},
    ),
    "space to depth": (
        "SPACE_TO_DEPTH",
        [q(2, 6, 4, 3)],
        [q(2, 3, 2, 12)],
        "SpaceToDepthOptions",
        {"BlockSize": 2},
    ),
    "space to batch": (
        "SPACE_TO_BATCH_ND",
        [q(2, 5, 7, 3), i32(2, 3), i32([1, 0], [1, 4])],
        [q(12, 3, 4, 3)],
        "SpaceToBatchNDOptions",
        {},
    ),
    "space to batch of one axis": (
        "SPACE_TO_BATCH_ND",
        [u(2, 6, 3), i32(3), i32([0, 0])],
        [u(6, 2, 3)],
        "SpaceToBatchNDOptions",
        {},
    ),
    "batch to space": (
        "BATCH_TO_SPACE_ND",
        [u(12, 3, 4, 3), i32(2, 3), i32([1, 0], [1, 4])],
        [u(2, 5, 7, 3)],
        "BatchToSpaceNDOptions",
        {},
    ),
    "tile": ("TILE", [q(2, 3, 4), i32(1, 3, 2)], [q(2, 9, 8)], "TileOptions", {}),
    "broadcast": (
        "BROADCAST_TO",
        [u(2, 1, 4), i32(3, 2, 5, 4)],
        [u(3, 2, 5, 4)],
        "BroadcastToOptions",
        {},
    ),
    "arg min": (
        "ARG_MIN",
        [q(2, 30), i32(1)],
        [T((2,), "int32")],
        "ArgMinOptions",
        {"OutputType": 2},
    ),
    "least": (
        "REDUCE_MIN",
        [q(*A), i32(1, 3)],
        [q(2, 5)],
        "ReducerOptions",
        {"KeepDims": False},
    ),
    "arg max": (
        "ARG_MAX",
        [u(2, 30), i32(1)],
        [T((2,), "int32")],
        "ArgMaxOptions",
        {"OutputType": 2},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_tflite_computes(tmp_path, case):
    kind, inputs, outputs, table, options = CASES[case]
    compare(one_operator(kind, inputs, outputs, table, **options), tmp_path)


def test_a_shape_computed_of_a_shape(tmp_path):
    """As Keras writes Flatten: shape, its first entry, packed with the rest, reshaped to it."""
    tensors = [
        q(2, 3, 4),
        T((3,), "int32"),
        i32(0),
        i32(1),
        i32(1),
        T((), "int32"),
        T.of(np.array(12, np.int32)),
        T((2,), "int32"),
        q(2, 12),
    ]
    ops = [
        Op("SHAPE", [0], [1], "ShapeOptions", {"OutType": 2}),
        Op("STRIDED_SLICE", [1, 2, 3, 4], [5], "StridedSliceOptions", {"ShrinkAxisMask": 1}),
        Op("PACK", [5, 6], [7], "PackOptions", {"ValuesCount": 2, "Axis": 0}),
        Op("RESHAPE", [0, 7], [8]),
    ]
    content = model(tensors, ops, [0], [8])
    compare(content, tmp_path)
    network = imported(content, tmp_path)
    assert len(network.mod["main"].body.blocks[0].bindings) <= 2


def test_open_shapes(tmp_path):
    tensors = [
        T((1, 3, 4), scale=0.1, signature=(-1, 3, 4), name="x"),
        T((1, 4, 3), scale=0.1, signature=(-1, 4, 3)),
        i32(0, 2, 1),
    ]
    content = model(tensors, [Op("TRANSPOSE", [0, 2], [1])], [0], [1])
    assert imported(content, tmp_path).inputs[0].shape == (1, 3, 4)
    network = imported(content, tmp_path, x=(5, 3, 4))
    assert (network.inputs[0].shape, network.outputs[0].shape) == ((5, 3, 4), (5, 4, 3))
    value = np.arange(60, dtype=np.int8).reshape(5, 3, 4)
    np.testing.assert_array_equal(on_host(network, value)[0], value.transpose(0, 2, 1))
    with pytest.raises(FrontendError, match=r"is of shape \(-1, 3, 4\).*\(5, 3, 5\) was given"):
        imported(content, tmp_path, x=(5, 3, 5))
    with pytest.raises(FrontendError, match="no input is called 'y'; there are: x"):
        imported(content, tmp_path, y=(5, 3, 5))


def test_an_open_shape_without_a_default(tmp_path):
    tensors = [T((-1, 3), scale=0.1, signature=(-1, 3), name="x"), T((-1, 3), scale=0.1)]
    content = model(tensors, [Op("RELU", [0], [1])], [0], [1])
    with pytest.raises(FrontendError, match="--shape x=1,3"):
        imported(content, tmp_path)
    assert imported(content, tmp_path, x=(7, 3)).outputs[0].shape == (7, 3)


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "table", "options", "message"),
    [
        ("RESHAPE", [q(2, 3), i32(4, 2)], [q(4, 2)], "ReshapeOptions", {}, "has no shape"),
        ("RESHAPE", [q(2, 3), i32(-1, -1)], [q(4, 2)], "ReshapeOptions", {}, "is no shape"),
        ("TRANSPOSE", [q(2, 3), i32(1, 1)], [q(3, 2)], "TransposeOptions", {}, "is no order"),
        ("SLICE", [q(2, 3), i32(0, 2), i32(2, 2)], [q(2, 2)], "SliceOptions", {}, "do not fit"),
        (
            "SPLIT",
            [i32(1), q(2, 3)],
            [q(2, 1)] * 2,
            "SplitOptions",
            {"NumSplits": 2},
            "equal parts",
        ),
        ("GATHER", [q(2, 3), i32(2)], [q(1, 3)], "GatherOptions", {"Axis": 0}, "not among the 2"),
        (
            "SPACE_TO_BATCH_ND",
            [q(1, 5, 4, 1), i32(2, 2), i32([0, 0], [0, 0])],
            [q(4, 2, 2, 1)],
            "SpaceToBatchNDOptions",
            {},
            "no whole blocks",
        ),
        (
            "BATCH_TO_SPACE_ND",
            [q(4, 2, 2, 1), i32(2, 2), i32([3, 2], [0, 0])],
            [q(1, 0, 4, 1)],
            "BatchToSpaceNDOptions",
            {},
            "leave nothing",
        ),
        ("TILE", [q(2, 3), i32(2)], [q(4, 3)], "TileOptions", {}, "cannot be repeated"),
        ("BROADCAST_TO", [q(2, 3), i32(3, 3)], [q(3, 3)], None, {}, "has no shape"),
        ("EXPAND_DIMS", [q(2), i32(5)], [q(2, 1)], "ExpandDimsOptions", {}, "no axis 5 of 2"),
    ],
)
def test_wrong_numbers_are_refused(tmp_path, kind, inputs, outputs, table, options, message):
    with pytest.raises(FrontendError, match=rf"operator 0 \({kind}; .*{message}"):
        imported(one_operator(kind, inputs, outputs, table, **options), tmp_path)


def test_every_kind_is_in_the_docs():
    page = (Path(__file__).parents[3] / "docs" / "importing_tflite.md").read_text()
    assert [kind for kind in known_kinds() if f"`{kind}`" not in page] == []
