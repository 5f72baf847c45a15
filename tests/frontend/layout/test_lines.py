"""Values over time: images of one line, all of whose operators stay next to each other."""

import numpy as np
import pytest
from frontend_layout import check, draw
from relax_functions import constant, function_of
from tvm import relax

from npu_target.frontend.layout import channels_last
from npu_target.relax_graph import Graph, op_name

op = relax.op


def conv(emit, x, channels, kernel=3, seed=0, **attrs):
    """With a bias."""
    inputs = int(x.ty.shape[1]) // attrs.get("groups", 1)
    weight = constant(draw(channels, inputs, kernel, seed=seed))
    y = emit(op.nn.conv1d(x, weight, **attrs))
    return emit(op.add(y, constant(draw(1, channels, 1, seed=seed))))


def normal(emit, x, channels):
    gamma, beta, mean = (constant(draw(channels, seed=seed)) for seed in range(3))
    variance = constant(np.linspace(0.5, 2, channels, dtype="float32"))
    return emit(emit(op.nn.batch_norm(x, gamma, beta, mean, variance, axis=1))[0])


def test_a_network_has_reshapes_at_its_ends_alone():
    def body(emit, x):
        x = emit(op.nn.relu(normal(emit, conv(emit, x, 6, padding=1), 6)))
        y = conv(emit, x, 6, padding=2, dilation=2, groups=6)
        x = emit(op.nn.relu(emit(op.add(x, y))))
        x = emit(op.nn.max_pool1d(x, 3, 2, 1))
        x = emit(op.nn.avg_pool1d(x, 2, 1))
        left = emit(op.strided_slice(x, [1, 2], [0, 0], [4, 9]))
        right = emit(op.strided_slice(x, [1, -1], [2, 0], [6, 9]))
        x = emit(op.concat([left, right], axis=1))
        x = emit(op.nn.pad(x, [0, 0, 0, 0, 2, 0], pad_value=0.25))
        x = emit(op.multiply(conv(emit, x, 5), constant(np.float32(0.5))))
        return emit(op.mean(x, [2]))

    names = check(function_of([(2, 4, 19)], body), draw(2, 4, 19), transposes=1)
    assert names.count("relax.reshape") == 1
    changed = channels_last(function_of([(2, 4, 19)], body))
    graph = Graph(changed)
    for var in graph.order:
        if op_name(graph.value[var]) == "relax.nn.conv2d":
            assert op_name(graph.value[graph.sole_user(var)]) == "relax.add"


def quantized(emit, x, axis=1):
    channels = int(x.ty.shape[axis])
    numbers = (
        constant(np.linspace(0.01, 0.03, channels, dtype="float32")),
        constant(np.arange(channels, dtype="int8")),
    )
    return emit(op.dequantize(emit(op.quantize(x, *numbers, axis, "int8")), *numbers, axis))


@pytest.mark.long
@pytest.mark.parametrize(
    "then",
    [
        lambda emit, x: emit(op.mean(x, [1], keepdims=True)),
        lambda emit, x: emit(op.max(x, [0, 2], keepdims=True)),
        lambda emit, x: emit(op.sum(x, [2, 1])),
        lambda emit, x: emit(op.mean(x, [2], keepdims=True)),
        lambda emit, x: emit(op.permute_dims(x, [0, 2, 1])),
        lambda emit, x: emit(op.reshape(x, (2, 6, 1, 8))),
        lambda emit, x: emit(op.reshape(x, (2, 48))),
        lambda emit, x: emit(op.reshape(x, (12, 8))),
        lambda emit, x: emit(op.nn.softmax(x, axis=1)),
        lambda emit, x: emit(emit(op.split(x, 3, axis=1))[1]),
        lambda emit, x: emit(op.cumsum(x, axis=2)),
        lambda emit, x: emit(op.nn.adaptive_avg_pool1d(x, 1)),
        lambda emit, x: emit(op.add(x, constant(draw(8)))),
        lambda emit, x: emit(op.add(constant(draw(6, 1)), x)),
        lambda emit, x: quantized(emit, x),
        lambda emit, x: quantized(emit, x, axis=2),
    ],
)
def test_what_follows_a_line_is_the_same(then):
    def body(emit, x):
        return then(emit, conv(emit, x, 6, padding=1))

    check(function_of([(2, 4, 8)], body), draw(2, 4, 8), transposes=None)


def test_a_pool_of_an_image_of_one_line_stays_one():
    """As PyTorch spells pools over lines."""

    def body(emit, x):
        x = emit(op.expand_dims(conv(emit, x, 6), 2))
        x = emit(op.nn.max_pool2d(x, (1, 3), (1, 2)))
        return conv(emit, emit(op.squeeze(x, [2])), 5)

    names = check(function_of([(2, 4, 19)], body), draw(2, 4, 19), transposes=2)
    assert names.count("relax.reshape") == 2
