"""The networks known by name, and what one of them is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tvm.ir import IRModule

from .image import load_image, synthetic_images
from .parameters import ModelError, load_parameters, seeded_parameters
from .resnet import RESNET18, build_resnet, parameter_shapes


@dataclass(frozen=True)
class Model:
    """A float32 network with its weights inside.

    ``mod`` has one function ``main``: a float32 NHWC image batch of ``input_shape`` to float32
    logits of ``(batch, classes)``.
    """

    name: str
    mod: IRModule
    input_shape: tuple[int, int, int, int]

    def preprocess(self, image_file: str | Path) -> np.ndarray:
        """The network's input for an image file; raises :class:`ModelError` if unreadable."""
        _, height, width, _ = self.input_shape
        return load_image(image_file, height, width)

    def calibration_inputs(self, count: int, seed: int = 0) -> list[np.ndarray]:
        """``count`` seeded synthetic images, already preprocessed: what to calibrate with when
        no real images are given."""
        _, height, width, _ = self.input_shape
        return synthetic_images(count, height, width, seed)


def _resnet18(weights: str | Path | None, seed: int) -> Model:
    shapes = parameter_shapes(RESNET18)
    if weights is None:
        parameters = seeded_parameters(shapes, seed, RESNET18)
    else:
        parameters = load_parameters(weights, shapes)
    return Model("resnet18", build_resnet(RESNET18, parameters), RESNET18.input_shape)


MODELS: dict[str, Callable[[str | Path | None, int], Model]] = {"resnet18": _resnet18}


def get_model(name: str, weights: str | Path | None = None, seed: int = 0) -> Model:
    """The network ``name`` with its weights from ``weights``, or else drawn from ``seed``.

    ``weights`` is an .npz file whose arrays carry the names and layouts of torchvision's
    ``state_dict`` (see :mod:`npu_target.models.parameters`).

    Raises :class:`ModelError` for an unknown name and for weights that do not fit.
    """
    if name not in MODELS:
        known = ", ".join(sorted(MODELS))
        raise ModelError(f"unknown model {name!r}; known models: {known}")
    return MODELS[name](weights, seed)
