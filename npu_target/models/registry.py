"""The networks known by name, and what one of them is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tvm.ir import IRModule

from .bert import BERT_BASE, OTHER_PARTS, build_bert, seeded_bert
from .bert import parameter_shapes as bert_shapes
from .errors import ModelError
from .image import synthetic_images
from .matmuls import build_matmuls
from .mobilenet import MOBILENET_V2, build_mobilenet_v2
from .mobilenet import parameter_shapes as mobilenet_shapes
from .parameters import load_parameters, seeded_parameters
from .resnet import RESNET18, RESNET50, ResNetConfig, build_resnet
from .resnet import parameter_shapes as resnet_shapes


@dataclass(frozen=True)
class Model:
    """A float32 network with its weights inside: ``mod`` has one function ``main``."""

    name: str
    mod: IRModule

    def calibration_inputs(
        self, count: int, seed: int = 0
    ) -> Sequence[np.ndarray | Sequence[np.ndarray]]:
        """``count`` times what ``main`` takes, drawn from ``seed``: normalized values."""
        random = np.random.default_rng(seed)
        shapes = [tuple(int(n) for n in param.ty.shape) for param in self.mod["main"].params]
        return [
            [random.normal(size=shape).astype("float32") for shape in shapes] for _ in range(count)
        ]


@dataclass(frozen=True)
class ImageModel(Model):
    """``main`` takes a float32 NHWC image batch of ``input_shape`` to float32 logits of
    ``(batch, classes)``."""

    input_shape: tuple[int, int, int, int]

    def calibration_inputs(self, count: int, seed: int = 0) -> list[np.ndarray]:
        """``count`` seeded synthetic images, already preprocessed: what to calibrate with when
        no real images are given."""
        _, height, width, _ = self.input_shape
        return synthetic_images(count, height, width, seed)


Weights = str | Path | None


def _resnet(name: str, config: ResNetConfig) -> Callable[[Weights, int], Model]:
    def make(weights: Weights, seed: int) -> Model:
        shapes = resnet_shapes(config)
        if weights is None:
            parameters = seeded_parameters(shapes, seed, config)
        else:
            parameters = load_parameters(weights, shapes)
        return ImageModel(name, build_resnet(config, parameters), config.input_shape)

    return make


def _mobilenet_v2(weights: Weights, seed: int) -> Model:
    shapes = mobilenet_shapes(MOBILENET_V2)
    if weights is None:
        parameters = seeded_parameters(shapes, seed, MOBILENET_V2)
    else:
        parameters = load_parameters(weights, shapes)
    mod = build_mobilenet_v2(MOBILENET_V2, parameters)
    return ImageModel("mobilenet_v2", mod, MOBILENET_V2.input_shape)


def _bert_base(weights: Weights, seed: int) -> Model:
    if weights is None:
        parameters = seeded_bert(BERT_BASE, seed)
    else:
        parameters = load_parameters(weights, bert_shapes(BERT_BASE), OTHER_PARTS)
    return Model("bert_base", build_bert(BERT_BASE, parameters))


def _matmuls(weights: Weights, seed: int) -> Model:
    if weights is not None:
        raise ModelError(f"matmuls are no network, they take no weights from {weights}")
    return Model("matmuls", build_matmuls(seed))


MODELS: dict[str, Callable[[Weights, int], Model]] = {
    "resnet18": _resnet("resnet18", RESNET18),
    "resnet50": _resnet("resnet50", RESNET50),
    "mobilenet_v2": _mobilenet_v2,
    "bert_base": _bert_base,
    "matmuls": _matmuls,
}


def get_model(name: str, weights: Weights = None, seed: int = 0) -> Model:
    """The network ``name`` with its weights from ``weights``, or else drawn from ``seed``.

    ``weights`` is an .npz, a .safetensors or a .pt file whose arrays carry the names and layouts of
    torchvision's ``state_dict``, BERT's those of Hugging Face's ``BertModel`` (see
    :mod:`npu_target.models.parameters`).

    Raises :class:`ModelError` for an unknown name and for weights that do not fit.
    """
    if name not in MODELS:
        known = ", ".join(sorted(MODELS))
        raise ModelError(f"unknown model {name!r}; known models: {known}")
    return MODELS[name](weights, seed)
