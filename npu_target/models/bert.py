"""The encoder of BERT (Devlin et al. 2019), float32, in Relax.

Names and layouts of the parameters are those of Hugging Face's ``BertModel``. The embeddings, a
table look-up, come before it: the input is what they give. Sequences are of full length, so that
no attention is masked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.ir import IRModule

_EPSILON = 1e-12


@dataclass(frozen=True)
class BertConfig:
    """Sizes of the encoder. ``heads`` divides ``hidden``."""

    batch: int = 1
    sequence: int = 128
    hidden: int = 768
    layers: int = 12
    heads: int = 12
    intermediate: int = 3072

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """(batch, sequence, hidden) of the embeddings."""
        return (self.batch, self.sequence, self.hidden)


BERT_BASE = BertConfig()

# Parts of a BertModel beside its encoder, whose weights a file may have as well.
OTHER_PARTS = ("embeddings.", "pooler.")


def parameter_shapes(config: BertConfig) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the encoder's parameters; dense weights are (outputs, inputs)."""
    shapes: dict[str, tuple[int, ...]] = {}
    hidden, intermediate = config.hidden, config.intermediate
    for layer in range(config.layers):
        at = f"encoder.layer.{layer}"
        dense = {f"{at}.attention.self.{name}": (hidden, hidden) for name in _QKV}
        dense[f"{at}.attention.output.dense"] = (hidden, hidden)
        dense[f"{at}.intermediate.dense"] = (intermediate, hidden)
        dense[f"{at}.output.dense"] = (hidden, intermediate)
        for name, shape in dense.items():
            shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape, shape[:1]
        for norm in (f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"):
            shapes[f"{norm}.weight"] = shapes[f"{norm}.bias"] = (hidden,)
    return shapes


_QKV = ("query", "key", "value")


def seeded_bert(config: BertConfig, seed: int) -> dict[str, np.ndarray]:
    """Parameters drawn from ``seed``: dense layers that keep a unit variance, so that attention
    has something to choose from; layer norms near 1 and 0."""
    random = np.random.default_rng(seed)
    parameters = {}
    for name, shape in parameter_shapes(config).items():
        if len(shape) == 2:
            value = random.normal(0.0, 1.0 / math.sqrt(shape[1]), shape)
        elif name.endswith("LayerNorm.weight"):
            value = random.uniform(0.7, 1.3, shape)
        else:
            value = random.normal(0.0, 0.1, shape)
        parameters[name] = value.astype("float32")
    return parameters


def build_bert(config: BertConfig, parameters: Mapping[str, np.ndarray]) -> IRModule:
    """The encoder as a module with one function ``main(embeddings) -> hidden states``.

    Both are float32 (batch, sequence, hidden). ``parameters`` has the names and shapes of
    :func:`parameter_shapes`. Variables are named ``layer0_query``, ``layer0_scores``, ...
    """
    builder = relax.BlockBuilder()
    embeddings = relax.Var("embeddings", relax.TensorType(config.input_shape, "float32"))
    with builder.function("main", [embeddings]):
        with builder.dataflow():
            x: relax.Expr = embeddings
            for layer in range(config.layers):
                x = _Encoder(builder, config, parameters, layer).emit(x)
            output = builder.emit_output(x)
        builder.emit_func_output(output)
    return builder.get()


class _Encoder:
    """One layer: self-attention and a feed-forward network, each added to its input and
    normalized."""

    def __init__(
        self,
        builder: relax.BlockBuilder,
        config: BertConfig,
        parameters: Mapping[str, np.ndarray],
        layer: int,
    ) -> None:
        self._builder = builder
        self._config = config
        self._parameters = parameters
        self._layer = layer

    def emit(self, x: relax.Expr) -> relax.Var:
        query, key, value = (self._dense(x, f"attention.self.{name}", name) for name in _QKV)
        attended = self._attention(query, key, value)
        y = self._dense(attended, "attention.output.dense", "projection")
        x = self._norm(self._bind(relax.op.add(y, x), "attended"), "attention.output.LayerNorm")
        y = self._dense(x, "intermediate.dense", "intermediate")
        y = self._bind(relax.op.nn.gelu(y), "gelu")
        y = self._dense(y, "output.dense", "output")
        return self._norm(self._bind(relax.op.add(y, x), "sum"), "output.LayerNorm")

    def _attention(self, query: relax.Var, key: relax.Var, value: relax.Var) -> relax.Var:
        c = self._config
        size = c.hidden // c.heads

        def heads(x: relax.Var, name: str, axes: tuple[int, ...]) -> relax.Var:
            split = self._bind(relax.op.reshape(x, (c.batch, c.sequence, c.heads, size)), name)
            return self._bind(relax.op.permute_dims(split, list(axes)), f"{name}_heads")

        query = heads(query, "query_split", (0, 2, 1, 3))
        key = heads(key, "key_split", (0, 2, 3, 1))
        value = heads(value, "value_split", (0, 2, 1, 3))
        scores = self._bind(relax.op.matmul(query, key), "scores")
        scale = relax.const(np.float32(1.0 / math.sqrt(size)))
        scaled = self._bind(relax.op.multiply(scores, scale), "scaled")
        weights = self._bind(relax.op.nn.softmax(scaled, axis=-1), "softmax")
        context = self._bind(relax.op.matmul(weights, value), "context")
        context = self._bind(relax.op.permute_dims(context, [0, 2, 1, 3]), "context_rows")
        return self._bind(relax.op.reshape(context, c.input_shape), "context_joined")

    def _dense(self, x: relax.Expr, parameter: str, name: str) -> relax.Var:
        weight = np.ascontiguousarray(self._parameter(f"{parameter}.weight").T)
        y = self._bind(relax.op.matmul(x, relax.const(weight)), name)
        bias = relax.const(self._parameter(f"{parameter}.bias"))
        return self._bind(relax.op.add(y, bias), f"{name}_bias")

    def _norm(self, x: relax.Var, parameter: str) -> relax.Var:
        gamma, beta = (
            relax.const(self._parameter(f"{parameter}.{kind}")) for kind in ("weight", "bias")
        )
        norm = relax.op.nn.layer_norm(x, gamma, beta, axes=[-1], epsilon=_EPSILON)
        return self._bind(norm, "norm")

    def _parameter(self, name: str) -> np.ndarray:
        return self._parameters[f"encoder.layer.{self._layer}.{name}"]

    def _bind(self, value: relax.Expr, name: str) -> relax.Var:
        return self._builder.emit(value, f"layer{self._layer}_{name}")
