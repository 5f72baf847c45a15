"""Layers of image networks, emitted into one builder with their parameters found by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from tvm import relax

_EPSILON = 1e-5
_RELU6_MAX = 6.0


class Layers:
    """Float32 NHWC layers; a value's variable is named after its layer (``layer1_0_conv1``),
    which later stages keep. Parameters have the layouts of torchvision's ``state_dict``."""

    def __init__(self, builder: relax.BlockBuilder, parameters: Mapping[str, np.ndarray]) -> None:
        self._builder = builder
        self._parameters = parameters

    def _constant(self, name: str, transpose: tuple[int, ...] | None = None) -> relax.Expr:
        array = self._parameters[name]
        if transpose is not None:
            array = array.transpose(transpose)
        return relax.const(np.ascontiguousarray(array))

    def conv_bn(
        self, x: relax.Var, conv: str, norm: str, stride: int, padding: int, groups: int = 1
    ) -> relax.Var:
        """Convolution without bias, then batch normalization with its running statistics."""
        y = self._builder.emit(
            relax.op.nn.conv2d(
                x,
                self._constant(f"{conv}.weight", (2, 3, 1, 0)),
                strides=stride,
                padding=padding,
                groups=groups,
                data_layout="NHWC",
                kernel_layout="HWIO",
            ),
            identifier(conv),
        )
        kinds = ("weight", "bias", "running_mean", "running_var")
        statistics = [self._constant(f"{norm}.{kind}") for kind in kinds]
        normalized = self._builder.emit(
            relax.op.nn.batch_norm(y, *statistics, axis=3, epsilon=_EPSILON, training=False)
        )
        return self._builder.emit(normalized[0], identifier(norm))

    def relu(self, x: relax.Var, name: str) -> relax.Var:
        return self._builder.emit(relax.op.nn.relu(x), identifier(name))

    def relu6(self, x: relax.Var, name: str) -> relax.Var:
        """``min(max(x, 0), 6)``."""
        return self._builder.emit(relax.op.clip(x, 0.0, _RELU6_MAX), identifier(name))

    def max_pool(self, x: relax.Var, name: str) -> relax.Var:
        """3x3 windows, stride 2, padding 1."""
        pool = relax.op.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1), layout="NHWC")
        return self._builder.emit(pool, identifier(name))

    def add(self, x: relax.Var, y: relax.Var, name: str) -> relax.Var:
        return self._builder.emit(relax.op.add(x, y), identifier(name))

    def average(self, x: relax.Var, name: str) -> relax.Var:
        """(n, h, w, c) to (n, c)."""
        return self._builder.emit(relax.op.mean(x, [1, 2]), identifier(name))

    def dense(self, x: relax.Var, name: str) -> relax.Var:
        """Weights (outputs, inputs), with a bias."""
        y = self._builder.emit(
            relax.op.matmul(x, self._constant(f"{name}.weight", (1, 0))), identifier(name)
        )
        return self._builder.emit(relax.op.add(y, self._constant(f"{name}.bias")))


def conv_bn_shapes(
    conv: str, norm: str, inputs: int, outputs: int, kernel: int
) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the parameters of :meth:`Layers.conv_bn`; ``inputs`` a group."""
    kinds = ("weight", "bias", "running_mean", "running_var")
    norms: dict[str, tuple[int, ...]] = {f"{norm}.{kind}": (outputs,) for kind in kinds}
    return {f"{conv}.weight": (outputs, inputs, kernel, kernel), **norms}


def identifier(layer: str) -> str:
    """A layer's name as that of a variable."""
    return layer.replace(".", "_")
