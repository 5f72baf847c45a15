"""The encoder's structure, against a float NumPy evaluation and against known facts."""

import math

import numpy as np
import pytest

from npu_target.host import build_host, run_host
from npu_target.models import ModelError, get_model
from npu_target.models.bert import (
    BERT_BASE,
    OTHER_PARTS,
    BertConfig,
    build_bert,
    parameter_shapes,
    seeded_bert,
)
from npu_target.models.parameters import load_parameters

SMALL = BertConfig(batch=2, sequence=5, hidden=12, layers=2, heads=3, intermediate=20)


def test_has_the_parameters_of_the_published_encoder():
    shapes = parameter_shapes(BERT_BASE)
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == 85_054_464
    assert shapes["encoder.layer.11.intermediate.dense.weight"] == (3072, 768)


def norm(x, p, name):
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    return x * p[f"{name}.weight"] + p[f"{name}.bias"]


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def evaluate(config, p, x):
    def dense(x, name):
        return x @ p[f"{name}.weight"].T.astype("float64") + p[f"{name}.bias"]

    size = config.hidden // config.heads
    for layer in range(config.layers):
        at = f"encoder.layer.{layer}"
        q, k, v = (dense(x, f"{at}.attention.self.{name}") for name in ("query", "key", "value"))
        context = np.zeros_like(q)
        for head in range(config.heads):
            part = slice(head * size, (head + 1) * size)
            scores = q[..., part] @ k[..., part].transpose(0, 2, 1) / math.sqrt(size)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            weights /= weights.sum(-1, keepdims=True)
            context[..., part] = weights @ v[..., part]
        y = dense(context, f"{at}.attention.output.dense")
        x = norm(x + y, p, f"{at}.attention.output.LayerNorm")
        y = dense(gelu(dense(x, f"{at}.intermediate.dense")), f"{at}.output.dense")
        x = norm(x + y, p, f"{at}.output.LayerNorm")
    return x


def test_computes_the_network():
    parameters = seeded_bert(SMALL, 1)
    x = np.random.default_rng(0).normal(size=SMALL.input_shape).astype("float32")
    (found,) = run_host(build_host(build_bert(SMALL, parameters)), x)
    np.testing.assert_allclose(found, evaluate(SMALL, parameters, x), rtol=1e-4, atol=1e-4)


def test_other_parts_of_a_file_are_left(tmp_path):
    shapes = parameter_shapes(SMALL)
    values = seeded_bert(SMALL, 0)
    np.savez(tmp_path / "w.npz", **values, **{"embeddings.word_embeddings.weight": np.zeros(3)})
    found = load_parameters(tmp_path / "w.npz", shapes, OTHER_PARTS)
    assert list(found) == list(shapes)
    with pytest.raises(ModelError, match="1 tensors have no place in this network: embeddings"):
        load_parameters(tmp_path / "w.npz", shapes)


@pytest.mark.slow
def test_takes_embeddings():
    ((embeddings,),) = get_model("bert_base").calibration_inputs(1)
    assert embeddings.shape == (1, 128, 768)
