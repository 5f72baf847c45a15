"""Blocks of networks that people have: float Relax in, all products on the simulated device."""

import math

import numpy as np
import pytest
from networks_on_device import run_on_device
from relax_functions import constant, function_of
from tvm import relax
from tvm.relax import op

from npu_target.decompose import decompose_float

LEAST_DB = 20.0


class Weights:
    """Seeded ones that keep a unit variance."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def normal(self, *shape, deviation=1.0):
        return (self.random.normal(size=shape) * deviation).astype("float32")

    def matrix(self, inputs, outputs):
        return constant(self.normal(inputs, outputs, deviation=1 / math.sqrt(inputs)))

    def near_one(self, size):
        return constant(self.random.uniform(0.7, 1.3, size).astype("float32"))

    def kernel(self, *shape):
        return constant(self.normal(*shape, deviation=math.sqrt(2 / math.prod(shape[:-1]))))


def inputs_of(shapes, count=4, seed=1):
    weights = Weights(seed)
    return [[weights.normal(*shape) for shape in shapes] for _ in range(count)]


def heads(emit, x, count, axes):
    batch, sequence, hidden = (int(n) for n in x.ty.shape)
    split = emit(op.reshape(x, (batch, sequence, count, hidden // count)))
    return emit(op.permute_dims(split, axes))


def softmax_of(emit, scores, size):
    scaled = emit(op.multiply(scores, relax.const(np.float32(1 / math.sqrt(size)))))
    return emit(op.nn.softmax(scaled, axis=-1))


def rotated(emit, x, cosine, sine):
    """RoPE: pairs of halves, turned by angles that grow with the position."""
    first, second = (emit(part) for part in _fields(emit, op.split(x, 2, axis=-1)))
    turned = emit(op.concat([emit(op.negative(second)), first], axis=-1))
    return emit(op.add(emit(op.multiply(x, cosine)), emit(op.multiply(turned, sine))))


def _fields(emit, expression):
    made = emit(expression)
    return [made[0], made[1]]


@pytest.mark.long
def test_a_llama_block():
    """RMS norm, RoPE, several heads of queries to one of keys, SwiGLU."""
    sequence, hidden, query_heads, key_heads, size, middle = 12, 32, 4, 2, 8, 48
    w = Weights(0)
    angles = np.arange(sequence)[:, None] / 10.0 ** (np.arange(size // 2) / 2)
    angles = np.concatenate([angles, angles], axis=1).astype("float32")
    cosine, sine = constant(np.cos(angles)), constant(np.sin(angles))
    mask = np.where(np.triu(np.ones((sequence, sequence)), 1), np.float32(-1e9), np.float32(0))

    def norm(emit, x):
        return emit(op.nn.rms_norm(x, w.near_one(hidden), axes=[-1]))

    def body(emit, x):
        y = norm(emit, x)
        q = heads(emit, emit(op.matmul(y, w.matrix(hidden, hidden))), query_heads, [0, 2, 1, 3])
        k = heads(emit, emit(op.matmul(y, w.matrix(hidden, 16))), key_heads, [0, 2, 1, 3])
        v = heads(emit, emit(op.matmul(y, w.matrix(hidden, 16))), key_heads, [0, 2, 1, 3])
        q, k = rotated(emit, q, cosine, sine), rotated(emit, k, cosine, sine)
        q = emit(op.reshape(q, (1, key_heads, 2, sequence, size)))
        k = emit(op.reshape(k, (1, key_heads, 1, sequence, size)))
        v = emit(op.reshape(v, (1, key_heads, 1, sequence, size)))
        scores = emit(op.matmul(q, emit(op.permute_dims(k, [0, 1, 2, 4, 3]))))
        masked = emit(op.add(scores, constant(mask)))
        context = emit(op.matmul(softmax_of(emit, masked, size), v))
        context = emit(op.reshape(context, (1, query_heads, sequence, size)))
        context = emit(op.permute_dims(context, [0, 2, 1, 3]))
        context = emit(op.reshape(context, (1, sequence, hidden)))
        x = emit(op.add(emit(op.matmul(context, w.matrix(hidden, hidden))), x))
        y = norm(emit, x)
        gate = emit(op.nn.silu(emit(op.matmul(y, w.matrix(hidden, middle)))))
        up = emit(op.matmul(y, w.matrix(hidden, middle)))
        y = emit(op.matmul(emit(op.multiply(gate, up)), w.matrix(middle, hidden)))
        return emit(op.add(y, x))

    shape = (1, sequence, hidden)
    ran = run_on_device(function_of([shape], body), inputs_of([shape]))
    assert ran.decibels > LEAST_DB
    assert ran.regions.count("matmul") == 9
    assert ("multiply", "int32") in ran.integer
    assert {"nn.rms_norm", "nn.softmax", "table"} <= ran.on_host


@pytest.mark.parametrize("spelled", ["attention", pytest.param("products", marks=pytest.mark.slow)])
def test_a_vision_transformer_block(spelled):
    """Patches, a class token, places, layer norm, attention, GELU, the mean of the tokens."""
    hidden, heads_, size, tokens = 24, 3, 8, 17
    w = Weights(2)

    def norm(emit, x):
        beta = constant(w.normal(hidden, deviation=0.1))
        return emit(op.nn.layer_norm(x, w.near_one(hidden), beta, axes=[-1]))

    def dense(emit, x, inputs, outputs):
        y = emit(op.matmul(x, w.matrix(inputs, outputs)))
        return emit(op.add(y, constant(w.normal(outputs, deviation=0.1))))

    def attention(emit, q, k, v):
        if spelled == "attention":
            split = [emit(op.reshape(value, (2, tokens, heads_, size))) for value in (q, k, v)]
            return emit(op.reshape(emit(op.nn.attention(*split)), (2, tokens, hidden)))
        q, v = (heads(emit, value, heads_, [0, 2, 1, 3]) for value in (q, v))
        scores = emit(op.matmul(q, heads(emit, k, heads_, [0, 2, 3, 1])))
        context = emit(op.matmul(softmax_of(emit, scores, size), v))
        context = emit(op.permute_dims(context, [0, 2, 1, 3]))
        return emit(op.reshape(context, (2, tokens, hidden)))

    def body(emit, image):
        layout = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
        x = emit(op.nn.conv2d(image, w.kernel(4, 4, 3, hidden), strides=4, **layout))
        x = emit(op.reshape(x, (2, 16, hidden)))
        token = emit(op.broadcast_to(constant(w.normal(1, 1, hidden)), (2, 1, hidden)))
        x = emit(op.concat([token, x], axis=1))
        x = emit(op.add(x, constant(w.normal(1, tokens, hidden, deviation=0.3))))
        y = norm(emit, x)
        attended = attention(emit, *(dense(emit, y, hidden, hidden) for _ in range(3)))
        x = emit(op.add(dense(emit, attended, hidden, hidden), x))
        y = emit(op.nn.gelu(dense(emit, norm(emit, x), hidden, 40)))
        x = emit(op.add(dense(emit, y, 40, hidden), x))
        mean = emit(op.mean(norm(emit, x), [1]))
        return dense(emit, mean, hidden, 10)

    shape = (2, 16, 16, 3)
    ran = run_on_device(function_of([shape], body), inputs_of([shape]))
    assert ran.decibels > LEAST_DB
    assert (ran.regions.count("matmul"), ran.regions.count("conv2d")) == (9, 1)
    assert "global_avg_pool" in ran.regions
    assert "table" in ran.on_host


@pytest.mark.long
@pytest.mark.parametrize("up", ["transposed", "nearest", "bilinear"])
def test_a_u_net_block(up):
    """Down, up again, joined with what it was made of."""
    w = Weights(3)
    layout = {"data_layout": "NHWC", "kernel_layout": "HWIO"}

    def conv(emit, x, outputs, activation=op.nn.relu, **options):
        inputs = int(x.ty.shape[3])
        y = emit(op.nn.conv2d(x, w.kernel(3, 3, inputs, outputs), padding=1, **layout, **options))
        y = emit(op.add(y, constant(w.normal(outputs, deviation=0.1))))
        return emit(activation(y))

    def body(emit, x):
        fine = conv(emit, x, 8)
        coarse = emit(op.nn.max_pool2d(fine, (2, 2), (2, 2), layout="NHWC"))
        coarse = conv(emit, coarse, 16, lambda y: op.nn.leakyrelu(y, 0.1))
        if up == "transposed":
            kernel = w.kernel(2, 2, 8, 16)
            wide = op.nn.conv2d_transpose(
                coarse, kernel, strides=2, data_layout="NHWC", kernel_layout="HWOI"
            )
        else:
            method = {"nearest": "nearest_neighbor", "bilinear": "linear"}[up]
            wide = op.image.resize2d(coarse, (12, 10), layout="NHWC", method=method)
        joined = emit(op.concat([emit(wide), fine], axis=3))
        return emit(op.nn.conv2d(conv(emit, joined, 8), w.kernel(1, 1, 8, 3), **layout))

    shape = (2, 12, 10, 3)
    mod = function_of([shape], body)
    if up == "transposed":  # TVM's host has none of NHWC
        mod = decompose_float(mod)
    ran = run_on_device(mod, inputs_of([shape]))
    assert ran.decibels > LEAST_DB
    assert ("concat", "int8") in ran.integer
    assert ran.regions.count("conv2d") == (5 if up == "transposed" else 4)
    assert ("image.resize2d" in ran.on_host) == (up != "transposed")


@pytest.mark.long
def test_convolutions_that_no_device_has():
    """Dilated, grouped, of lines, in batches, between pools of all kinds."""
    w = Weights(5)
    layout = {"data_layout": "NHWC", "kernel_layout": "HWIO"}

    def body(emit, x):
        y = emit(op.nn.conv2d(x, w.kernel(3, 3, 4, 12), padding=2, dilation=2, **layout))
        y = emit(op.nn.max_pool2d(y, (3, 3), (1, 1), (1, 1), layout="NHWC"))
        y = emit(op.nn.conv2d(y, w.kernel(3, 3, 4, 12), padding=1, groups=3, **layout))
        y = emit(op.nn.relu(emit(op.add(y, constant(w.normal(12, deviation=0.1))))))
        y = emit(op.nn.avg_pool2d(y, (3, 2), (2, 1), layout="NHWC"))
        n, lines, pixels, channels = (int(extent) for extent in y.ty.shape)
        y = emit(op.reshape(y, (n, lines * pixels, channels)))
        kernel = w.kernel(5, channels, 6)
        lines_layout = {"data_layout": "NWC", "kernel_layout": "WIO"}
        y = emit(op.nn.conv1d(y, kernel, padding=4, dilation=2, **lines_layout))
        return emit(op.mean(y, [1]))

    shape = (3, 9, 8, 4)
    mod = decompose_float(function_of([shape], body))  # TVM's host has no conv1d of NWC
    ran = run_on_device(mod, inputs_of([shape]))
    assert ran.decibels > LEAST_DB
    kinds = ["conv2d", "max_pool2d", "conv2d", "depthwise_conv2d", "conv2d", "global_avg_pool"]
    assert ran.regions == kinds


@pytest.mark.long
def test_a_detector_head():
    """Two sizes of maps, boxes and scores of each joined; centers and sizes decoded."""
    w = Weights(4)
    layout = {"data_layout": "NHWC", "kernel_layout": "HWIO"}

    def hard_swish(emit, x):
        three, six = (relax.const(np.float32(number)) for number in (3, 6))
        gate = emit(op.divide(emit(op.clip(emit(op.add(x, three)), 0.0, 6.0)), six))
        return emit(op.multiply(x, gate))

    def head(emit, x, outputs):
        y = emit(op.nn.conv2d(x, w.kernel(3, 3, 4, 8), padding=1, groups=2, **layout))
        y = hard_swish(emit, y)
        y = emit(op.nn.conv2d(y, w.kernel(1, 1, 8, outputs), **layout))
        n, lines, pixels, _ = (int(extent) for extent in y.ty.shape)
        return emit(op.reshape(y, (n, lines * pixels, outputs)))

    def body(emit, fine, coarse):
        coarse = emit(
            op.nn.avg_pool2d(coarse, (3, 3), (1, 1), (1, 1), count_include_pad=True, layout="NHWC")
        )
        found = emit(op.concat([head(emit, fine, 9), head(emit, coarse, 9)], axis=1))
        boxes = emit(op.strided_slice(found, [2], [0], [4]))
        scores = emit(op.sigmoid(emit(op.strided_slice(found, [2], [4], [9]))))
        center, size = _fields(emit, op.split(boxes, 2, axis=-1))
        center, size = emit(center), emit(op.exp(emit(op.clip(emit(size), -3.0, 3.0))))
        return relax.Tuple([emit(op.concat([center, size], axis=-1)), scores])

    shapes = [(1, 8, 8, 8), (1, 4, 4, 8)]
    ran = run_on_device(function_of(shapes, body), inputs_of(shapes))
    assert ran.decibels > LEAST_DB
    assert ran.regions.count("depthwise_conv2d") == 1
    assert {"sigmoid", "concat", "exp", "table"} <= ran.on_host
