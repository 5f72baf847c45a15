"""Inputs of networks from files and folders, and what is said of those that do not fit."""

import numpy as np
import pytest
from PIL import Image

from npu_target.frontend import TensorInfo
from npu_target.inputs import InputsError, read_inputs
from npu_target.integer import Quantization

IMAGE = TensorInfo("image", (1, 4, 6, 3), "float32")
PAIR = (TensorInfo("left", (2, 3), "int32"), TensorInfo("right", (2,), "float32"))


def floats(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


@pytest.mark.parametrize("shape", [(1, 4, 6, 3), (4, 6, 3), (5, 4, 6, 3), (5, 1, 4, 6, 3)])
def test_an_array_is_one_sample_or_several(tmp_path, shape):
    values = floats(*shape)
    np.save(tmp_path / "values.npy", values)
    samples = read_inputs(tmp_path / "values.npy", [IMAGE])
    assert len(samples) == values.size // (4 * 6 * 3)
    read = np.stack([sample[0] for sample in samples])
    np.testing.assert_array_equal(read, values.reshape(-1, 1, 4, 6, 3))


def test_batches_of_more_than_one(tmp_path):
    rows = np.arange(18, dtype="int32").reshape(6, 3)
    np.savez(tmp_path / "values.npz", left=rows, right=np.arange(6, dtype="float32"))
    samples = read_inputs(tmp_path / "values.npz", PAIR)
    assert len(samples) == 3
    left, right = samples[1]
    np.testing.assert_array_equal(left, rows[2:4])
    np.testing.assert_array_equal(right, [2, 3])
    assert samples.names[1] == "values.npz[1]"
    assert len(samples[1:]) == 2


@pytest.mark.parametrize("arrays", [["image", "other"], ["input", "expected"], ["anything"]])
def test_an_archive_names_the_only_input(tmp_path, arrays):
    values = {name: floats(1, 4, 6, 3) + i for i, name in enumerate(arrays)}
    np.savez(tmp_path / "values.npz", **values)
    ((read,),) = read_inputs(tmp_path / "values.npz", [IMAGE])
    np.testing.assert_array_equal(read, values[arrays[0]])


def test_a_folder_in_the_order_of_names(tmp_path):
    for name, count in (("b.npy", 2), ("a.npy", 1)):
        np.save(tmp_path / name, floats(count, 4, 6, 3) * count)
    Image.new("RGB", (12, 8), (255, 0, 0)).save(tmp_path / "c.png")
    (tmp_path / "notes.txt").write_text("not an input")
    samples = read_inputs(tmp_path, [IMAGE])
    assert samples.names == ("a.npy", "b.npy[0]", "b.npy[1]", "c.png")
    assert samples[3][0].shape == (1, 4, 6, 3)


@pytest.mark.parametrize(
    ("dtype", "shape", "expected"),
    [
        ("uint8", (1, 4, 6, 3), [255, 0, 51]),
        ("int8", (1, 4, 6, 3), [127, -128, -77]),
        ("uint8", (1, 3, 4, 6), [255, 0, 51]),
        ("float32", (1, 4, 6, 3), [(1 - 0.485) / 0.229, -0.456 / 0.224, (0.2 - 0.406) / 0.225]),
        ("float32", (1, 4, 6, 1), [82 / 255]),
    ],
)
def test_what_an_image_becomes(tmp_path, dtype, shape, expected):
    Image.new("RGB", (3, 3), (255, 0, 51)).save(tmp_path / "image.png")
    ((read,),) = read_inputs(tmp_path, [TensorInfo("image", shape, dtype)])
    assert read.shape == shape and read.dtype == dtype
    channels = np.moveaxis(read, 3 if shape[3] in (1, 3) else 1, 0).reshape(len(expected), -1)
    np.testing.assert_allclose(channels, np.repeat(np.array(expected)[:, None], 24, 1), rtol=1e-5)


def test_floats_are_quantized_for_integer_inputs(tmp_path):
    info = TensorInfo("x", (1, 4), "int8", Quantization((0.5,), (3,)))
    np.save(tmp_path / "x.npy", np.array([[0, 1.2, 100, -100]], "float32"))
    ((read,),) = read_inputs(tmp_path / "x.npy", [info])
    assert read.tolist() == [[3, 5, 127, -128]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (floats(1, 4, 6, 4), r"values.npy: image must be of shape \(1, 4, 6, 3\).*\(1, 4, 6, 4\)"),
        (floats(2), "must be of shape"),
        (floats(0, 4, 6, 3), "has no samples"),
        (floats(4, 6, 3).astype("float64"), "image must be float32, it is float64"),
        (floats(4, 6, 3) * np.float32("nan"), "infinite or not numbers"),
        (np.array([object()]), "cannot be read"),
    ],
)
def test_what_does_not_fit(tmp_path, value, message):
    np.save(tmp_path / "values.npy", value)
    with pytest.raises(InputsError, match=message):
        list(read_inputs(tmp_path / "values.npy", [IMAGE]))


def test_files_that_are_none(tmp_path):
    with pytest.raises(InputsError, match="is not there"):
        read_inputs(tmp_path / "none.npz", [IMAGE])
    with pytest.raises(InputsError, match="has no files that end in"):
        read_inputs(tmp_path, [IMAGE])
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(InputsError, match="ends in one of"):
        read_inputs(tmp_path / "text.txt", [IMAGE])
    np.savez(tmp_path / "whole.npz", left=np.zeros((4, 3), "int32"), right=floats(2))
    with pytest.raises(InputsError, match="2 of left, 1 of right"):
        read_inputs(tmp_path / "whole.npz", PAIR)
    with pytest.raises(InputsError, match="no array for image; its arrays: left, right"):
        read_inputs(tmp_path / "whole.npz", [IMAGE])
    (tmp_path / "cut.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:200])
    with pytest.raises(InputsError, match=r"cut\.npz is no \.npz archive, or cut off"):
        read_inputs(tmp_path / "cut.npz", PAIR)
    (tmp_path / "empty.npy").write_bytes(b"")
    with pytest.raises(InputsError, match="cannot be read"):
        read_inputs(tmp_path / "empty.npy", [IMAGE])
    with pytest.raises(InputsError, match=r"takes 2 inputs \(left, right\)"):
        read_inputs(tmp_path / "empty.npy", PAIR)


def test_an_input_that_is_no_image(tmp_path):
    Image.new("RGB", (3, 3)).save(tmp_path / "image.png")
    with pytest.raises(InputsError, match="which is no image"):
        list(read_inputs(tmp_path, [TensorInfo("x", (1, 640), "int8")]))
