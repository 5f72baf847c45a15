"""Channels last: the same values, and transposes at the ends only."""

import numpy as np
import pytest
from frontend_layout import check, draw
from hypothesis import given, settings
from hypothesis import strategies as st
from relax_functions import constant, function_of
from tvm import relax

op = relax.op


def conv(emit, x, channels, seed=0, kernel=3, **attrs):
    inputs = int(x.ty.shape[1]) // attrs.get("groups", 1)
    weight = constant(draw(channels, inputs, kernel, kernel, seed=seed))
    y = emit(op.nn.conv2d(x, weight, **attrs))
    return emit(op.add(y, constant(draw(1, channels, 1, 1, seed=seed))))


def test_residual_network_keeps_two_transposes_at_most():
    def body(emit, x):
        x = emit(op.nn.relu(conv(emit, x, 8, strides=2, padding=1)))
        y = emit(op.minimum(conv(emit, x, 8, padding=1, groups=8), constant(np.float32(2))))
        x = emit(op.add(x, y))
        x = emit(op.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1)))
        x = emit(op.mean(x, [2, 3], keepdims=True))
        x = emit(op.reshape(x, (1, 8)))
        return emit(op.matmul(x, constant(draw(8, 5))))

    check(function_of([(1, 3, 16, 16)], body), draw(1, 3, 16, 16), transposes=1)


def test_flattened_images_keep_their_order():
    def body(emit, x):
        x = emit(op.nn.relu(emit(op.reshape(conv(emit, x, 4), (2, 4 * 3 * 4)))))
        return emit(op.matmul(x, constant(draw(48, 5))))

    check(function_of([(2, 3, 5, 6)], body), draw(2, 3, 5, 6), transposes=1)


def test_rows_that_others_read_are_put_back():
    def body(emit, x):
        rows = emit(op.reshape(conv(emit, x, 4), (2, 4 * 3 * 4)))
        return emit(op.nn.softmax(rows))

    check(function_of([(2, 3, 5, 6)], body), draw(2, 3, 5, 6), transposes=2)


def test_concatenations_slices_and_statistics_follow():
    def body(emit, x):
        x = conv(emit, x, 6)
        left = emit(op.strided_slice(x, [1, 3], [1, 0], [4, 6], [1, 2]))
        right = emit(op.strided_slice(x, [1, 3], [3, 1], [6, 7], [1, 2]))
        x = emit(op.concat([left, right], axis=1))
        halves = emit(op.split(x, 2, axis=1))
        x = emit(op.subtract(emit(halves[0]), emit(halves[1])))
        x = emit(op.nn.pad(x, [0, 0, 0, 1, 2, 0, 1, 1]))
        ones = constant(np.ones(4, "float32"))
        normal = emit(
            op.nn.batch_norm(x, *[constant(draw(4, seed=i)) for i in range(3)], ones, axis=1)
        )
        x = emit(op.nn.softmax(emit(normal[0]), axis=1))
        x = emit(op.image.resize2d(x, (9, 5), method="nearest_neighbor"))
        return emit(op.sum(x, [1], keepdims=True))

    check(function_of([(1, 3, 9, 9)], body), draw(1, 3, 9, 9), transposes=1)


def test_a_file_with_channels_last_loses_its_transposes():
    def body(emit, x):
        x = emit(op.permute_dims(x, [0, 3, 1, 2]))
        return emit(op.permute_dims(conv(emit, x, 5), [0, 2, 3, 1]))

    check(function_of([(1, 6, 7, 3)], body), draw(1, 6, 7, 3), transposes=0)


def test_what_is_unknown_gets_its_own_layout():
    def body(emit, x):
        x = emit(op.cumsum(conv(emit, x, 5), axis=1))
        return conv(emit, x, 4)

    check(function_of([(1, 3, 7, 8)], body), draw(1, 3, 7, 8), transposes=4)


@pytest.mark.long
@settings(deadline=None, max_examples=15)
@given(
    st.integers(1, 2),
    st.integers(1, 2),
    st.integers(1, 2),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
)
def test_one_dimensional_convolutions_become_rows(stride, dilation, groups, padding):
    def body(emit, x):
        weight = constant(draw(6, 4 // groups, 3))
        y = op.nn.conv1d(
            x, weight, strides=stride, padding=padding, dilation=dilation, groups=groups
        )
        return emit(op.nn.relu(emit(op.add(emit(y), constant(draw(1, 6, 1))))))

    names = check(function_of([(2, 4, 11)], body), draw(2, 4, 11), transposes=2)
    assert "relax.nn.conv2d" in names
