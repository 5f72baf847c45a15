"""Small networks in integer form, made by hand."""

import numpy as np
from tvm import relax
from tvm.relax import op

from npu_target.integer import Requantize, emit


class Builder:
    """Emits a network of one int8 image; ``value`` is what comes last."""

    def __init__(self, shape, seed=0, name="image"):
        self.builder = relax.BlockBuilder()
        self.params = [relax.Var(name, relax.TensorType(shape, "int8"))]
        self.random = np.random.default_rng(seed)
        self.value = self.params[0]

    def make(self, body):
        with self.builder.function("main", self.params):
            with self.builder.dataflow():
                body(self)
                out = self.builder.emit_output(self.value)
            self.builder.emit_func_output(out)
        return self.builder.get()

    def int8(self, *shape):
        return self.random.integers(-127, 128, shape).astype("int8")

    def emit(self, value, name=""):
        self.value = self.builder.emit(value, name)
        return self.value

    def pad(self, zero_point, width=1):
        widths = [0, 0, width, width, width, width, 0, 0]
        return self.emit(op.nn.pad(self.value, widths, pad_value=zero_point), "padded")

    def conv(self, name, channels, kernel=3, strides=1, depthwise=False, zero_point=0, **options):
        """A convolution with a bias that the zero point of its input is in."""
        depth = int(self.value.ty.shape[-1])
        shape = (kernel, kernel, 1, depth) if depthwise else (kernel, kernel, depth, channels)
        weight = self.int8(*shape)
        out = self.emit(
            op.nn.conv2d(
                self.value,
                relax.const(weight),
                strides=strides,
                groups=depth if depthwise else 1,
                data_layout="NHWC",
                kernel_layout="HWIO",
                out_dtype="int32",
                **options,
            ),
            f"{name}_conv",
        )
        bias = self.random.integers(-2000, 2000, shape[-1]).astype("int32")
        bias -= (zero_point * weight.astype("int32").sum((0, 1, 2))).astype("int32")
        return self.emit(op.add(out, relax.const(bias)), f"{name}_biased")

    def dense(self, name, channels):
        weight = self.int8(int(self.value.ty.shape[-1]), channels)
        self.emit(op.matmul(self.value, relax.const(weight), out_dtype="int32"), f"{name}_matmul")
        bias = self.random.integers(-2000, 2000, channels).astype("int32")
        return self.emit(op.add(self.value, relax.const(bias)), f"{name}_biased")

    def operation(self, operation, name, *inputs):
        self.value = emit(self.builder, operation, inputs or [self.value], name)
        return self.value

    def requantize(self, name, rule, scale, zero_point=0, low=-128, high=127):
        scales = tuple(np.atleast_1d(scale).tolist())
        return self.operation(Requantize(rule, scales, zero_point, low, high), name)


def inputs_of(mod, count, seed=1):
    random = np.random.default_rng(seed)
    shape = [int(n) for n in mod["main"].params[0].ty.shape]
    return [[random.integers(-128, 128, shape).astype("int8")] for _ in range(count)]
