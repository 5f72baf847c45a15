"""Broken .onnx files: a message or a network that runs, never a crash, a hang or a gigabyte."""

import resource
import time

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from damaged_files import check_values, damage  # noqa: E402
from onnx_models import Maker, quantized  # noqa: E402

from npu_target.frontend import FrontendError, load  # noqa: E402

# Of one import, with other tests at work.
_MOST_SECONDS = 60
_MOST_BYTES = 3 * 2**30


def small_net():
    m = Maker()
    x = m.node("Relu", [m.conv("image", 3, 4, 3, "conv", strides=[2, 2])], "relu")
    x = m.node("MaxPool", [x], "pool", kernel_shape=[2, 2], strides=[2, 2])
    x = m.node("Flatten", [m.node("Add", [x, x], "add")], "flatten")
    fc = [m.weight(5, 16, name="fc.weight"), m.constant(np.zeros(5, "float32"), "fc.bias")]
    m.node("Gemm", [x, *fc], "fc", transB=1)
    return m.model({"image": (1, 3, 8, 8)}, {"fc_out": (1, 5)})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    models = [small_net(), *(quantized(small_net(), folder, form) for form in ("QDQ", "QOperator"))]
    return [model.SerializeToString() for model in models]


def check_mutations(files, folder, count, seed):
    path = folder / "net.onnx"
    messages = networks = 0
    for content in damage(files, count, seed):
        path.write_bytes(content)
        start = time.monotonic()
        try:
            load(path)
            networks += 1
        except FrontendError as error:
            assert str(path) in str(error)
            messages += 1
        assert time.monotonic() - start < _MOST_SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < _MOST_BYTES
    assert messages > count // 10 and networks > 0


def test_flips_and_cuts(files, tmp_path):
    check_mutations(files, tmp_path, 300, seed=0)


@pytest.mark.slow
def test_many_flips_and_cuts(files, tmp_path):
    check_mutations(files, tmp_path, 100_000, seed=1)


def test_values_of_damaged_files(files, tmp_path):
    check_values(tmp_path / "net.onnx", files, 200, seed=2)


@pytest.mark.slow
def test_values_of_many_damaged_files(files, tmp_path):
    check_values(tmp_path / "net.onnx", files, 5_000, seed=3)
