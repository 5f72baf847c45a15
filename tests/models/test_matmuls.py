"""A function of products of many shapes."""

import numpy as np
import pytest

from npu_target.host import build_host, run_host
from npu_target.models import ModelError, get_model
from npu_target.models.matmuls import SIZES, build_matmuls


def test_products_of_all_arguments():
    mod = build_matmuls(3, ((4, 5, 6), (2, 8, 3)))
    a, b = np.ones((4, 5), "float32"), np.ones((2, 8), "float32")
    first, second = run_host(build_host(mod), a, b)
    assert first.shape == (4, 6) and second.shape == (2, 3)
    random = np.random.default_rng(3)
    weight = random.normal(0.0, 1 / np.sqrt(5), (5, 6))
    np.testing.assert_allclose(first, a @ weight, rtol=1e-5)


def test_the_model_has_squares_and_skewed_shapes():
    model = get_model("matmuls")
    (arguments,) = model.calibration_inputs(1)
    assert [value.shape for value in arguments] == [(m, k) for m, k, _ in SIZES]
    assert {(64, 64, 64), (1024, 1024, 1024), (64, 1024, 64), (1024, 64, 1024)} <= set(SIZES)


def test_takes_no_weights(tmp_path):
    with pytest.raises(ModelError, match="they take no weights"):
        get_model("matmuls", tmp_path / "w.npz")
