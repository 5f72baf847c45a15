"""Weight files: what is taken, and the one clear error for what is not."""

import numpy as np
import pytest

from npu_target.models import ModelError
from npu_target.models.parameters import load_parameters

SHAPES = {"conv.weight": (2, 3, 1, 1), "bn.running_var": (2,), "fc.bias": (4,)}


def arrays():
    return {name: np.full(shape, 0.5, "float32") for name, shape in SHAPES.items()}


def save(folder, values):
    file = folder / "weights.npz"
    np.savez(file, **values)
    return file


def test_reads_what_was_saved_and_ignores_batch_counters(tmp_path):
    values = arrays()
    values["fc.bias"] = np.arange(4, dtype="float64")
    found = load_parameters(
        save(tmp_path, values | {"bn.num_batches_tracked": np.int64(7)}), SHAPES
    )
    assert list(found) == list(SHAPES)
    np.testing.assert_array_equal(found["fc.bias"], [0, 1, 2, 3])
    assert {array.dtype.name for array in found.values()} == {"float32"}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda v: v.pop("fc.bias"), r"1 of 3 tensors are missing, needed fc.bias \(4,\)"),
        (lambda v: v.update(extra=np.zeros(1)), "1 tensors have no place in this network: extra"),
        (
            lambda v: v.update({"conv.weight": np.zeros((3, 2, 1, 1))}),
            r"conv.weight must have shape \(2, 3, 1, 1\), it has \(3, 2, 1, 1\)",
        ),
        (
            lambda v: v.update({"fc.bias": np.array(["a"] * 4)}),
            "fc.bias must be float32, it is <U1",
        ),
        (
            lambda v: v.update({"fc.bias": np.full(4, np.inf)}),
            "fc.bias has values that are not fin",
        ),
        (lambda v: v.update({"bn.running_var": -np.ones(2)}), "running_var has negative variances"),
    ],
)
def test_says_what_is_wrong_with_a_tensor(tmp_path, change, text):
    values = arrays()
    change(values)
    with pytest.raises(ModelError, match=text):
        load_parameters(save(tmp_path, values), SHAPES)
