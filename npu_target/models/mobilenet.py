"""MobileNetV2 (Sandler et al. 2018), float32 NHWC/HWIO, in Relax.

The structure and the layer names are torchvision's; layouts are converted on the way in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from .layers import Layers, conv_bn_shapes
from .parameters import IMAGE_VARIANCE, RELU_VARIANCE

# (expansion, output channels, blocks, stride of the first), at width 1.0
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


@dataclass(frozen=True)
class Convolution:
    """A convolution with its batch norm; ``groups`` is 1 or, depthwise, the input channels."""

    conv: str
    norm: str
    inputs: int
    outputs: int
    kernel: int
    stride: int
    groups: int
    relu6: bool


@dataclass(frozen=True)
class InvertedResidual:
    """Channels in, channels between, channels out, and whether its input is added at the end."""

    name: str
    inputs: int
    hidden: int
    outputs: int
    stride: int

    @property
    def adds_input(self) -> bool:
        return self.stride == 1 and self.inputs == self.outputs

    def convolutions(self) -> list[Convolution]:
        """Expansion (where there is one), depthwise, projection."""
        name, hidden = self.name, self.hidden
        expands = hidden != self.inputs
        result = []
        if expands:
            names = (f"{name}.conv.0.0", f"{name}.conv.0.1")
            result.append(Convolution(*names, self.inputs, hidden, 1, 1, 1, True))
        at = f"{name}.conv.{int(expands)}"
        names = (f"{at}.0", f"{at}.1")
        result.append(Convolution(*names, hidden, hidden, 3, self.stride, hidden, True))
        last = 1 + int(expands)
        names = (f"{name}.conv.{last}", f"{name}.conv.{last + 1}")
        result.append(Convolution(*names, hidden, self.outputs, 1, 1, 1, False))
        return result


@dataclass(frozen=True)
class MobileNetV2Config:
    """Sizes of the network; ``stages`` is (expansion, output channels, blocks, stride) each."""

    batch: int = 1
    image_size: int = 224
    stem_channels: int = 32
    stages: tuple[tuple[int, int, int, int], ...] = STAGES
    features: int = 1280
    classes: int = 1000

    @property
    def input_shape(self) -> tuple[int, int, int, int]:
        """(batch, height, width, channels) of the image."""
        return (self.batch, self.image_size, self.image_size, 3)

    def blocks(self) -> Iterator[InvertedResidual]:
        """The blocks in order; the stem is ``features.0``."""
        channels, number = self.stem_channels, 1
        for expansion, outputs, count, stride in self.stages:
            for index in range(count):
                hidden = channels * expansion
                first = stride if index == 0 else 1
                yield InvertedResidual(f"features.{number}", channels, hidden, outputs, first)
                channels, number = outputs, number + 1

    @property
    def stem(self) -> Convolution:
        return Convolution("features.0.0", "features.0.1", 3, self.stem_channels, 3, 2, 1, True)

    @property
    def head(self) -> Convolution:
        """The last convolution, after all blocks."""
        *_, last = self.blocks()
        number = int(last.name.rpartition(".")[2]) + 1
        names = (f"features.{number}.0", f"features.{number}.1")
        return Convolution(*names, last.outputs, self.features, 1, 1, 1, True)

    def input_variances(self) -> dict[str, float]:
        """About the variance of the values that each batch norm's convolution takes in.

        A block gives values of variance 1 (no ReLU follows), and one more for each input added.
        """
        variances = {self.stem.norm: IMAGE_VARIANCE}
        variance = RELU_VARIANCE
        for block in self.blocks():
            first, *rest = block.convolutions()
            variances[first.norm] = variance
            variances.update((convolution.norm, RELU_VARIANCE) for convolution in rest)
            variance = 1.0 + variance * block.adds_input
        variances[self.head.norm] = variance
        return variances


MOBILENET_V2 = MobileNetV2Config()


def parameter_shapes(config: MobileNetV2Config) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all parameters, as in torchvision's ``state_dict``."""
    convolutions = [config.stem]
    for block in config.blocks():
        convolutions += block.convolutions()
    shapes: dict[str, tuple[int, ...]] = {}
    for c in [*convolutions, config.head]:
        shapes |= conv_bn_shapes(c.conv, c.norm, c.inputs // c.groups, c.outputs, c.kernel)
    shapes["classifier.1.weight"] = (config.classes, config.features)
    shapes["classifier.1.bias"] = (config.classes,)
    return shapes


def build_mobilenet_v2(config: MobileNetV2Config, parameters: Mapping[str, np.ndarray]) -> IRModule:
    """The network as a module with one function ``main(image) -> logits``.

    ``parameters`` has the names and shapes of :func:`parameter_shapes`.
    """
    builder = relax.BlockBuilder()
    image = relax.Var("image", relax.TensorType(config.input_shape, "float32"))
    net = Layers(builder, parameters)

    def convolve(x: relax.Var, c: Convolution) -> relax.Var:
        y = net.conv_bn(x, c.conv, c.norm, c.stride, c.kernel // 2, c.groups)
        return net.relu6(y, f"{c.norm}.relu6") if c.relu6 else y

    with builder.function("main", [image]):
        with builder.dataflow():
            x = convolve(image, config.stem)
            for block in config.blocks():
                y = x
                for convolution in block.convolutions():
                    y = convolve(y, convolution)
                x = net.add(y, x, f"{block.name}.add") if block.adds_input else y
            x = net.average(convolve(x, config.head), "avgpool")
            logits = builder.emit_output(net.dense(x, "classifier.1"))
        builder.emit_func_output(logits)
    return builder.get()
