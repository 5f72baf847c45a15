"""A residual network of a few layers, with sizes that fit no block of channels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from npu_target.models.parameters import seeded_parameters
from npu_target.models.registry import MODELS, ImageModel, Weights
from npu_target.models.resnet import ResNetConfig, build_resnet, parameter_shapes

NAME = "conformance"
_SIZES = ResNetConfig(image_size=30, stem_channels=20, blocks_per_stage=(1,), classes=10)


@contextmanager
def known_by_name() -> Iterator[str]:
    """The network is one of `npu_target.models` inside, by the name that this gives."""
    MODELS[NAME] = _model
    try:
        yield NAME
    finally:
        del MODELS[NAME]


def _model(weights: Weights, seed: int) -> ImageModel:
    parameters = seeded_parameters(parameter_shapes(_SIZES), seed, _SIZES)
    return ImageModel(NAME, build_resnet(_SIZES, parameters), _SIZES.input_shape)
