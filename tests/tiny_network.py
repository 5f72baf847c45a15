"""A network small enough to tune in seconds, known by name as `tiny` after `register()`.

Run as a program it is `npu-target` with that model: `python tiny_network.py tune --model tiny`.
"""

from __future__ import annotations

from pathlib import Path

from npu_target.models import registry
from npu_target.models.parameters import load_parameters, seeded_parameters
from npu_target.models.resnet import ResNetConfig, build_resnet, parameter_shapes

TINY = ResNetConfig(image_size=32, stem_channels=8, blocks_per_stage=(1,), classes=10)


def tiny(weights: str | Path | None, seed: int) -> registry.Model:
    shapes = parameter_shapes(TINY)
    if weights is None:
        parameters = seeded_parameters(shapes, seed, TINY)
    else:
        parameters = load_parameters(weights, shapes)
    return registry.ImageModel("tiny", build_resnet(TINY, parameters), TINY.input_shape)


def register() -> None:
    registry.MODELS["tiny"] = tiny


if __name__ == "__main__":
    from npu_target.cli.start import start

    register()
    start()
