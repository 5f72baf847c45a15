"""ResNet with basic or bottleneck blocks (He et al. 2016), float32 NHWC/HWIO, in Relax.

The structure and the layer names are torchvision's (the 3x3 convolution of a bottleneck has the
stride); layouts are converted on the way in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.ir import IRModule

from .layers import Layers, conv_bn_shapes
from .parameters import IMAGE_VARIANCE, RELU_VARIANCE


@dataclass(frozen=True)
class Block:
    """Channels that come in, that it works on, that it gives; the stride of its branches."""

    name: str
    inputs: int
    width: int
    outputs: int
    stride: int

    @property
    def has_downsample(self) -> bool:
        """Whether a convolution brings the shortcut to the output's shape."""
        return self.stride != 1 or self.inputs != self.outputs


@dataclass(frozen=True)
class ResNetConfig:
    """Sizes of a ResNet; the blocks of stage ``i`` work on ``stem_channels * 2**i`` channels.

    A basic block is two 3x3 convolutions; a bottleneck, which gives ``expansion`` times as many
    channels, a 3x3 one between two of 1x1.
    """

    batch: int = 1
    image_size: int = 224
    image_channels: int = 3
    stem_channels: int = 64
    blocks_per_stage: tuple[int, ...] = (2, 2, 2, 2)
    bottleneck: bool = False
    classes: int = 1000

    @property
    def input_shape(self) -> tuple[int, int, int, int]:
        """(batch, height, width, channels) of the image."""
        return (self.batch, self.image_size, self.image_size, self.image_channels)

    @property
    def expansion(self) -> int:
        """Output channels of a block for each channel that it works on."""
        return 4 if self.bottleneck else 1

    def blocks(self) -> Iterator[Block]:
        """The blocks in order."""
        channels = self.stem_channels
        for stage, count in enumerate(self.blocks_per_stage):
            width = self.stem_channels * 2**stage
            for number in range(count):
                stride = 2 if stage > 0 and number == 0 else 1
                name = f"layer{stage + 1}.{number}"
                block = Block(name, channels, width, width * self.expansion, stride)
                yield block
                channels = block.outputs

    def convolutions(self, block: Block) -> list[tuple[int, int, int, int]]:
        """(input channels, output channels, kernel, stride) of a block's main branch."""
        inputs, width, outputs, stride = block.inputs, block.width, block.outputs, block.stride
        if self.bottleneck:
            return [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        return [(inputs, width, 3, stride), (width, outputs, 3, 1)]

    def input_variances(self) -> dict[str, float]:
        """About the variance of the values that each batch norm's convolution takes in.

        A normalized value has variance 1, after ReLU ``1/2 - 1/(2 pi)`` = 0.34, and a max pool
        of them about as much. A block adds its unit-variance branch to what comes in (or to its
        own unit-variance shortcut); of a sum whose mean is positive, ReLU keeps about 3/4.
        """
        variances = {"bn1": IMAGE_VARIANCE}
        variance = RELU_VARIANCE
        for block in self.blocks():
            for number in range(1, len(self.convolutions(block)) + 1):
                variances[f"{block.name}.bn{number}"] = RELU_VARIANCE
            variances[f"{block.name}.bn1"] = variance
            if block.has_downsample:
                variances[f"{block.name}.downsample.1"] = variance
                variance = 2.0 * RELU_VARIANCE
            else:
                variance = 0.75 * (variance + 1.0)
        return variances


RESNET18 = ResNetConfig()
RESNET50 = ResNetConfig(blocks_per_stage=(3, 4, 6, 3), bottleneck=True)


def parameter_shapes(config: ResNetConfig) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all parameters, as in torchvision's ``state_dict``."""
    shapes = conv_bn_shapes("conv1", "bn1", config.image_channels, config.stem_channels, 7)
    features = config.stem_channels
    for block in config.blocks():
        for number, (inputs, outputs, kernel, _) in enumerate(config.convolutions(block), start=1):
            names = (f"{block.name}.conv{number}", f"{block.name}.bn{number}")
            shapes |= conv_bn_shapes(*names, inputs, outputs, kernel)
        if block.has_downsample:
            names = (f"{block.name}.downsample.0", f"{block.name}.downsample.1")
            shapes |= conv_bn_shapes(*names, block.inputs, block.outputs, 1)
        features = block.outputs
    return {**shapes, "fc.weight": (config.classes, features), "fc.bias": (config.classes,)}


def build_resnet(config: ResNetConfig, parameters: Mapping[str, np.ndarray]) -> IRModule:
    """The network as a module with one function ``main(image) -> logits``.

    ``parameters`` has the names and shapes of :func:`parameter_shapes`.
    """
    builder = relax.BlockBuilder()
    image = relax.Var("image", relax.TensorType(config.input_shape, "float32"))
    net = Layers(builder, parameters)
    with builder.function("main", [image]):
        with builder.dataflow():
            x = net.conv_bn(image, "conv1", "bn1", stride=2, padding=3)
            x = net.max_pool(net.relu(x, "relu"), "maxpool")
            for block in config.blocks():
                x = _block(net, config, block, x)
            logits = builder.emit_output(net.dense(net.average(x, "avgpool"), "fc"))
        builder.emit_func_output(logits)
    return builder.get()


def _block(net: Layers, config: ResNetConfig, block: Block, x: relax.Var) -> relax.Var:
    name, shortcut = block.name, x
    if block.has_downsample:
        names = (f"{name}.downsample.0", f"{name}.downsample.1")
        shortcut = net.conv_bn(x, *names, block.stride, padding=0)
    convolutions = config.convolutions(block)
    for number, (_, _, kernel, stride) in enumerate(convolutions, start=1):
        x = net.conv_bn(x, f"{name}.conv{number}", f"{name}.bn{number}", stride, kernel // 2)
        if number < len(convolutions):
            x = net.relu(x, f"{name}.relu{number}")
    return net.relu(net.add(x, shortcut, f"{name}.add"), f"{name}.relu{len(convolutions)}")
