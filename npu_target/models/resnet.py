"""ResNet with basic blocks (He et al. 2016), float32 NHWC/HWIO, in Relax.

The structure and the layer names are torchvision's; layouts are converted on the way in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.ir import IRModule

_EPSILON = 1e-5
_RELU_VARIANCE = 0.5 - 0.5 / math.pi
# Of what a filter of zero mean sees in a normalized photograph, whose neighbours are alike.
_IMAGE_VARIANCE = 0.3


@dataclass(frozen=True)
class ResNetConfig:
    """Sizes of a basic-block ResNet; stage ``i`` has ``stem_channels * 2**i`` channels."""

    batch: int = 1
    image_size: int = 224
    image_channels: int = 3
    stem_channels: int = 64
    blocks_per_stage: tuple[int, ...] = (2, 2, 2, 2)
    classes: int = 1000

    @property
    def input_shape(self) -> tuple[int, int, int, int]:
        """(batch, height, width, channels) of the image."""
        return (self.batch, self.image_size, self.image_size, self.image_channels)

    def stage_channels(self, stage: int) -> int:
        """Output channels of stage 0, 1, ..."""
        return self.stem_channels * 2**stage

    def blocks(self) -> Iterator[tuple[str, int, int, int]]:
        """(name, input channels, output channels, stride) of each block, in order."""
        channels = self.stem_channels
        for stage, count in enumerate(self.blocks_per_stage):
            for block in range(count):
                stride = 2 if stage > 0 and block == 0 else 1
                yield f"layer{stage + 1}.{block}", channels, self.stage_channels(stage), stride
                channels = self.stage_channels(stage)

    def input_variances(self) -> dict[str, float]:
        """About the variance of the values that each batch norm's convolution takes in.

        A normalized value has variance 1, after ReLU ``1/2 - 1/(2 pi)`` = 0.34, and a max pool
        of them about as much. A block adds its unit-variance branch to what comes in (or to its
        own unit-variance shortcut); of a sum whose mean is positive, ReLU keeps about 3/4.
        """
        variances = {"bn1": _IMAGE_VARIANCE}
        variance = _RELU_VARIANCE
        for name, inputs, outputs, stride in self.blocks():
            variances[f"{name}.bn1"] = variance
            variances[f"{name}.bn2"] = _RELU_VARIANCE
            if _has_downsample(inputs, outputs, stride):
                variances[f"{name}.downsample.1"] = variance
                variance = 2.0 * _RELU_VARIANCE
            else:
                variance = 0.75 * (variance + 1.0)
        return variances


RESNET18 = ResNetConfig()


def _has_downsample(inputs: int, outputs: int, stride: int) -> bool:
    return stride != 1 or inputs != outputs


def parameter_shapes(config: ResNetConfig) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all parameters, as in torchvision's ``state_dict``."""
    shapes: dict[str, tuple[int, ...]] = {}

    def conv_bn(conv: str, norm: str, inputs: int, outputs: int, kernel: int) -> None:
        shapes[f"{conv}.weight"] = (outputs, inputs, kernel, kernel)
        for kind in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{norm}.{kind}"] = (outputs,)

    conv_bn("conv1", "bn1", config.image_channels, config.stem_channels, 7)
    features = config.stem_channels
    for name, inputs, outputs, stride in config.blocks():
        conv_bn(f"{name}.conv1", f"{name}.bn1", inputs, outputs, 3)
        conv_bn(f"{name}.conv2", f"{name}.bn2", outputs, outputs, 3)
        if _has_downsample(inputs, outputs, stride):
            conv_bn(f"{name}.downsample.0", f"{name}.downsample.1", inputs, outputs, 1)
        features = outputs
    shapes["fc.weight"] = (config.classes, features)
    shapes["fc.bias"] = (config.classes,)
    return shapes


def build_resnet(config: ResNetConfig, parameters: Mapping[str, np.ndarray]) -> IRModule:
    """The network as a module with one function ``main(image) -> logits``.

    ``parameters`` has the names and shapes of :func:`parameter_shapes`. Values are bound to
    variables named after their layers (``layer1_0_conv1``), which later stages keep.
    """
    builder = relax.BlockBuilder()
    image = relax.Var("image", relax.TensorType(config.input_shape, "float32"))
    net = _Layers(builder, parameters)
    with builder.function("main", [image]):
        with builder.dataflow():
            x = net.conv_bn(image, "conv1", "bn1", stride=2, padding=3)
            x = net.relu(x, "relu")
            x = builder.emit(
                relax.op.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1), layout="NHWC"), "maxpool"
            )
            for name, inputs, outputs, stride in config.blocks():
                shortcut = x
                if _has_downsample(inputs, outputs, stride):
                    shortcut = net.conv_bn(
                        x, f"{name}.downsample.0", f"{name}.downsample.1", stride, padding=0
                    )
                y = net.conv_bn(x, f"{name}.conv1", f"{name}.bn1", stride, padding=1)
                y = net.relu(y, f"{name}.relu1")
                y = net.conv_bn(y, f"{name}.conv2", f"{name}.bn2", stride=1, padding=1)
                y = builder.emit(relax.op.add(y, shortcut), _identifier(f"{name}.add"))
                x = net.relu(y, f"{name}.relu2")
            x = builder.emit(relax.op.mean(x, [1, 2]), "avgpool")
            logits = builder.emit_output(net.dense(x, "fc"))
        builder.emit_func_output(logits)
    return builder.get()


class _Layers:
    """Layers emitted into one builder, with parameters found by name."""

    def __init__(self, builder: relax.BlockBuilder, parameters: Mapping[str, np.ndarray]) -> None:
        self._builder = builder
        self._parameters = parameters

    def _constant(self, name: str, transpose: tuple[int, ...] | None = None) -> relax.Expr:
        array = self._parameters[name]
        if transpose is not None:
            array = array.transpose(transpose)
        return relax.const(np.ascontiguousarray(array))

    def conv_bn(self, x: relax.Var, conv: str, norm: str, stride: int, padding: int) -> relax.Var:
        """Convolution without bias, then batch normalization with its running statistics."""
        y = self._builder.emit(
            relax.op.nn.conv2d(
                x,
                self._constant(f"{conv}.weight", (2, 3, 1, 0)),
                strides=stride,
                padding=padding,
                data_layout="NHWC",
                kernel_layout="HWIO",
            ),
            _identifier(conv),
        )
        kinds = ("weight", "bias", "running_mean", "running_var")
        statistics = [self._constant(f"{norm}.{kind}") for kind in kinds]
        normalized = self._builder.emit(
            relax.op.nn.batch_norm(y, *statistics, axis=3, epsilon=_EPSILON, training=False)
        )
        return self._builder.emit(normalized[0], _identifier(norm))

    def relu(self, x: relax.Var, name: str) -> relax.Var:
        return self._builder.emit(relax.op.nn.relu(x), _identifier(name))

    def dense(self, x: relax.Var, name: str) -> relax.Var:
        y = self._builder.emit(
            relax.op.matmul(x, self._constant(f"{name}.weight", (1, 0))), _identifier(name)
        )
        return self._builder.emit(relax.op.add(y, self._constant(f"{name}.bias")))


def _identifier(layer: str) -> str:
    return layer.replace(".", "_")
