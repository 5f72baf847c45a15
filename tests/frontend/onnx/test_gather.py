"""Elements by their indices: constant ones and inputs, from both ends of an axis."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_layers import saved  # noqa: E402
from onnx_models import Maker, run  # noqa: E402

from npu_target.frontend import load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402
from npu_target.relax_graph import Graph, op_name  # noqa: E402

SHAPE = (2, 3, 4)
INT64 = onnx.TensorProto.INT64


def check(op_type, indices, folder, is_constant, **attrs):
    m = Maker()
    indices = np.array(indices, "int64")
    x = np.random.default_rng(0).normal(size=SHAPE).astype("float32")
    inputs, given = {"x": SHAPE}, [x]
    if is_constant:
        m.constant(indices, "indices")
    else:
        inputs["indices"] = indices.shape
        given.append(indices)
    m.node(op_type, ["x", "indices"], "gather", **attrs)
    model = m.model(inputs, {"gather_out": None}, types={"indices": INT64})
    net = load(saved(model, folder))
    (found,) = run_host(build_host(net.mod), *given)
    np.testing.assert_array_equal(found, run(model, *given)[0])
    return Graph(net.mod)


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", [1, -1, [0, -2], [[0, 1], [1, -1]]])
def test_gather(indices, axis, is_constant, tmp_path):
    check("Gather", indices, tmp_path, is_constant, axis=axis)


def test_one_place_is_a_slice(tmp_path):
    graph = check("Gather", -1, tmp_path, True, axis=1)
    names = {op_name(graph.value[var]) for var in graph.order}
    assert names == {"relax.strided_slice", "relax.squeeze"}


@pytest.mark.parametrize("is_constant", [True, False])
def test_gather_elements(is_constant, tmp_path):
    check("GatherElements", [[[0, -1, 1, 2]]], tmp_path, is_constant, axis=1)


@pytest.mark.parametrize("is_constant", [True, False])
def test_gather_nd(is_constant, tmp_path):
    check("GatherND", [[0, -1], [1, 2]], tmp_path, is_constant)
    check("GatherND", [[1], [-1]], tmp_path, is_constant, batch_dims=1)


def test_an_embedding(tmp_path):
    m = Maker()
    m.node("Gather", [m.weight(10, 4, name="table"), "words"], "embedding")
    model = m.model({"words": (1, 5)}, {"embedding_out": None}, types={"words": INT64})
    words = np.array([[0, 9, 3, -1, -10]])
    (found,) = run_host(build_host(load(saved(model, tmp_path)).mod), words)
    np.testing.assert_array_equal(found, run(model, words)[0])
