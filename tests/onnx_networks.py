"""ResNets and MobileNetV2 as ONNX models, with the seeded weights of the built-in networks, batch
normalization folded by ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
from onnx_models import Maker

from npu_target.models import mobilenet, resnet
from npu_target.models.parameters import seeded_parameters


class _Torchvision(Maker):
    def __init__(self, parameters) -> None:
        super().__init__()
        self.parameters = parameters
        self.zero = self.constant(np.float32(0), "zero")
        self.six = self.constant(np.float32(6), "six")

    def parameter(self, name: str) -> str:
        return self.constant(self.parameters[name], name)

    def conv_bn(self, x: str, conv: str, norm: str, stride: int, padding: int, groups: int = 1):
        weight = self.parameter(f"{conv}.weight")
        kernel = self.parameters[weight].shape[2:]
        attrs = {"kernel_shape": kernel, "strides": [stride] * 2, "pads": [padding] * 4}
        x = self.node("Conv", [x, weight], conv, group=groups, **attrs)
        kinds = ("weight", "bias", "running_mean", "running_var")
        return self.node(
            "BatchNormalization", [x, *(self.parameter(f"{norm}.{kind}") for kind in kinds)], norm
        )

    def classified(self, x: str, name: str) -> onnx.ModelProto:
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x], "avgpool")], "flatten")
        weights = [self.parameter(f"{name}.{kind}") for kind in ("weight", "bias")]
        x = self.node("Gemm", [x, *weights], name, transB=1)
        return self.model({"image": (1, 3, 224, 224)}, {x: (1, 1000)})


def resnet18() -> onnx.ModelProto:
    return _resnet(resnet.RESNET18)


def resnet50() -> onnx.ModelProto:
    return _resnet(resnet.RESNET50)


def _resnet(config: resnet.ResNetConfig) -> onnx.ModelProto:
    net = _Torchvision(seeded_parameters(resnet.parameter_shapes(config), 0, config))
    x = net.node("Relu", [net.conv_bn("image", "conv1", "bn1", 2, 3)], "relu")
    x = net.node("MaxPool", [x], "maxpool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for block in config.blocks():
        name, shortcut = block.name, x
        if block.has_downsample:
            pair = (f"{name}.downsample.0", f"{name}.downsample.1")
            shortcut = net.conv_bn(x, *pair, block.stride, 0)
        *first, last = enumerate(config.convolutions(block), 1)
        for number, (_, _, kernel, stride) in first:
            x = net.conv_bn(x, f"{name}.conv{number}", f"{name}.bn{number}", stride, kernel // 2)
            x = net.node("Relu", [x], f"{name}.relu{number}")
        number, (_, _, kernel, stride) = last
        x = net.conv_bn(x, f"{name}.conv{number}", f"{name}.bn{number}", stride, kernel // 2)
        x = net.node("Relu", [net.node("Add", [x, shortcut], f"{name}.add")], f"{name}.relu")
    return net.classified(x, "fc")


def mobilenet_v2() -> onnx.ModelProto:
    config = mobilenet.MOBILENET_V2
    net = _Torchvision(seeded_parameters(mobilenet.parameter_shapes(config), 0, config))

    def convolve(x, c):
        x = net.conv_bn(x, c.conv, c.norm, c.stride, c.kernel // 2, c.groups)
        return net.node("Clip", [x, net.zero, net.six], f"{c.norm}.relu6") if c.relu6 else x

    x = convolve("image", config.stem)
    for block in config.blocks():
        y = x
        for convolution in block.convolutions():
            y = convolve(y, convolution)
        x = net.node("Add", [y, x], f"{block.name}.add") if block.adds_input else y
    return net.classified(convolve(x, config.head), "classifier.1")
