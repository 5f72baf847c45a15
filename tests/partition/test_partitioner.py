"""What goes to the device gives the same bytes there as where it came from."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from partition.integer_functions import (
    RANDOM,
    add_bias,
    constant,
    conv2d,
    image_sum,
    int8,
    relu,
    requantize,
    residual,
)
from relax_functions import function_of
from tvm import relax
from tvm.relax import op

from npu_target.device import preset
from npu_target.devices.gemmini import GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.partition import partition

CONFIG = GemminiConfig()


def check(shapes, body, expected_ops, config=CONFIG):
    """Partition, compare the results of TensorIR definitions with those of plain Relax, and
    return the regions."""
    mod = function_of(shapes, body, "int8")
    partitioned = partition(mod, config)
    assert [region.op for region in partitioned.regions] == expected_ops
    inputs = [int8(*shape) for shape in shapes]
    wanted = run_host(build_host(mod), *inputs)
    found = run_host(build_host(partitioned.mod), *inputs)
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(a, b)
    # Results that are all alike would not tell a wrong region from a right one.
    assert all(len(np.unique(a)) > 2 for a in wanted if a.size > 20)
    return partitioned.regions


QUICK = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(st.data())
def test_conv2d(data):
    kh, kw = (data.draw(st.integers(1, 4), label) for label in ("kh", "kw"))
    h, w = (data.draw(st.integers(extent, 12), "image") for extent in (kh, kw))
    ci, co = (data.draw(st.integers(1, 20), label) for label in ("ci", "co"))
    pad = [data.draw(st.integers(0, 2), "pad") for _ in range(4)]
    strides = [data.draw(st.integers(1, 3), "stride") for _ in range(2)]
    has_bias, has_relu = data.draw(st.booleans(), "bias"), data.draw(st.booleans(), "relu")

    def body(emit, x):
        y = conv2d(emit, x, int8(kh, kw, ci, co), strides=strides, padding=pad)
        y = add_bias(emit, y, co) if has_bias else y
        y = requantize(emit, y, 0.01 / np.sqrt(kh * kw * ci))
        return relu(emit, y) if has_relu else y

    mod_shape = (data.draw(st.integers(1, 2), "n"), h, w, ci)
    (region,) = check([mod_shape], body, ["conv2d"])
    wanted = {
        "n": mod_shape[0],
        "h": h,
        "w": w,
        "ci": ci,
        "co": co,
        "kh": kh,
        "kw": kw,
        "strides": strides,
        "pad": pad,
        "bias": has_bias,
        "relu": has_relu,
        "scale": float(np.float32(0.01 / np.sqrt(kh * kw * ci))),
    }
    assert {name: region.attrs[name] for name in wanted} == wanted
    biases = ("constant:bias",) if has_bias else ()
    assert region.inputs == ("x0", "constant:weight", *biases)
    assert region.name == "conv"


@QUICK
@given(
    channels=st.integers(2, 37), stride=st.integers(1, 2), layout=st.sampled_from(["HWIO", "HWOI"])
)
def test_depthwise_conv2d(channels, stride, layout):
    shape = (3, 3, 1, channels) if layout == "HWIO" else (3, 3, channels, 1)

    def body(emit, x):
        y = conv2d(
            emit, x, int8(*shape), groups=channels, padding=1, strides=stride, kernel_layout=layout
        )
        return requantize(emit, add_bias(emit, y, channels))

    check([(1, 8, 7, channels)], body, ["depthwise_conv2d"])


def test_depthwise_weights_are_laid_out_for_the_device():
    def body(emit, x):
        return requantize(emit, conv2d(emit, x, int8(3, 3, 1, 20), groups=20))

    check([(1, 5, 5, 20)], body, ["depthwise_conv2d"], preset("gemmini-8x8"))


@pytest.mark.parametrize("layout", ["OIHW", "OHWI"])
def test_constant_weights_of_other_layouts_are_transposed(layout):
    extents = {"H": 3, "W": 2, "I": 4, "O": 5}

    def body(emit, x):
        weight = int8(*(extents[axis] for axis in layout))
        return requantize(emit, conv2d(emit, x, weight, kernel_layout=layout))

    check([(1, 6, 6, 4)], body, ["conv2d"])


@pytest.mark.parametrize(
    ("shapes", "matrix"),
    [
        ([(1, 33)], (33, 20)),
        ([(2, 3, 17)], (17, 5)),
        ([(9, 18), (18, 21)], None),
        ([(3, 7, 18), (3, 18, 5)], None),
        ([(2, 2, 7, 3), (2, 2, 3, 5)], None),
    ],
)
def test_matmul(shapes, matrix):
    def body(emit, x, *rest):
        right = rest[0] if rest else constant(int8(*matrix))
        y = emit(op.matmul(x, right, out_dtype="int32"), "product")
        y = add_bias(emit, y, int(y.ty.shape[-1]))
        return relu(emit, requantize(emit, y, 0.004))

    (region,) = check(shapes, body, ["matmul"])
    assert region.attrs["bias"] and region.attrs["relu"]
    # What is no constant has no layout of its own.
    assert bool(region.operator.layout_free) is (matrix is not None)


@pytest.mark.long
@pytest.mark.parametrize("has_relu", [False, True])
@pytest.mark.parametrize("shape", [(1, 5, 4, 19), (3, 7), (8,)])
@pytest.mark.parametrize("multipliers", [(1, 1), (1, 3), (127, -128), (0, 1)])
def test_residual_add(shape, multipliers, has_relu):
    scale = 0.6 / sum(map(abs, multipliers))

    def body(emit, a, b):
        y = residual(emit, a, b, *multipliers, scale, swap=has_relu)
        return relu(emit, y) if has_relu else y

    (region,) = check([shape, shape], body, ["add"])
    assert region.inputs[2] == "constant:weights"
    assert (region.attrs["scale"], region.attrs["relu"]) == (float(np.float32(scale)), has_relu)


def test_a_device_without_scaled_loads_adds_all_the_same():
    device = GemminiConfig().replace(has_mvin_scale=False)
    check([(2, 20), (2, 20)], residual, ["add"], device)


def test_an_operand_that_was_scaled_before_is_scaled_on_the_host():
    def body(emit, a, b):
        return residual(emit, a, requantize(emit, b, 0.5))

    check([(2, 20), (2, 20)], body, ["add"])


@pytest.mark.parametrize("size, stride, pad", [(3, 2, 1), (2, 2, 0), (3, 1, [0, 1, 2, 1])])
def test_max_pool2d(size, stride, pad):
    def body(emit, x):
        x = requantize(emit, conv2d(emit, x, int8(1, 1, 5, 18)))
        pooled = op.nn.max_pool2d(relu(emit, x), (size, size), (stride, stride), pad, layout="NHWC")
        return emit(pooled, "pool")

    regions = check([(1, 9, 8, 5)], body, ["conv2d", "max_pool2d"])
    assert [region.name for region in regions] == ["conv", "pool"]


@pytest.mark.parametrize("pad", [1, [0, 1, 1, 0]])
def test_a_max_pool_pads_with_the_least_element(pad):
    def body(emit, x):
        return emit(op.nn.max_pool2d(x, (3, 3), (2, 2), pad, layout="NHWC"), "pool")

    (region,) = check([(1, 9, 8, 18)], body, ["max_pool2d"])
    assert region.attrs["pad_value"] == -128


def padded_by(emit, x, value, widths=(1, 2, 0, 1)):
    top, left, bottom, right = widths
    return emit(op.nn.pad(x, [0, 0, top, bottom, left, right, 0, 0], pad_value=value), "padding")


@pytest.mark.long
@pytest.mark.parametrize("has_sums", [False, True])
@pytest.mark.parametrize("value", [-128, 0, 3])
@pytest.mark.parametrize("kind", ["conv2d", "depthwise_conv2d", "max_pool2d"])
def test_padding_by_a_value_is_part_of_the_operator(kind, value, has_sums):
    def body(emit, x):
        x = padded_by(emit, x, value)
        if kind == "max_pool2d":
            return emit(op.nn.max_pool2d(x, (2, 2), (2, 2), layout="NHWC"), "pool")
        depthwise = kind == "depthwise_conv2d"
        weight = int8(3, 3, 1, 7) if depthwise else int8(3, 3, 7, 11)
        y = conv2d(emit, x, weight, groups=7 if depthwise else 1, strides=2)
        return y if has_sums else relu(emit, requantize(emit, y))

    (region,) = check([(2, 9, 8, 7)], body, [kind])
    assert region.attrs["pad"] == [1, 2, 0, 1]
    assert region.attrs.get("pad_value", 0) == value


def test_padding_twice_by_the_same_value_is_padding():
    def body(emit, x):
        return requantize(emit, conv2d(emit, padded_by(emit, x, 0), int8(3, 3, 7, 5), padding=1))

    (region,) = check([(1, 6, 5, 7)], body, ["conv2d"])
    assert region.attrs["pad"] == [2, 3, 1, 2]


@pytest.mark.parametrize(
    "body",
    [
        lambda e, x: conv2d(e, padded_by(e, x, 5), int8(3, 3, 7, 5), padding=1),
        lambda e, x: conv2d(
            e, e(op.nn.pad(x, [0, 0, 1, 1, 1, 1, 0, 1], pad_value=5)), int8(3, 3, 8, 5)
        ),
        lambda e, x: conv2d(
            e, e(op.nn.pad(x, [0, 0, 1, 1, 1, 1, 0, 0], pad_mode="reflect")), int8(3, 3, 7, 5)
        ),
    ],
    ids=["by two values", "of channels", "reflected"],
)
def test_what_is_padded_otherwise_is_padded_on_the_host(body):
    (region,) = check([(1, 6, 5, 7)], lambda e, x: requantize(e, body(e, x)), ["conv2d"])
    assert "pad_value" not in region.attrs


def test_padding_that_two_layers_take_is_done_once():
    def body(emit, x):
        x = padded_by(emit, x, 5)
        return relax.Tuple([conv2d(emit, x, int8(3, 3, 7, n)) for n in (5, 6)])

    check([(1, 6, 5, 7)], body, ["conv2d", "conv2d"])


@pytest.mark.parametrize("keepdims", [False, True])
def test_global_avg_pool(keepdims):
    def body(emit, x):
        return requantize(emit, image_sum(emit, x, keepdims=keepdims), 0.05)

    check([(2, 7, 5, 33)], body, ["global_avg_pool"])


def test_spellings_of_other_importers():
    def body(emit, x):
        y = conv2d(emit, x, int8(1, 1, 4, 6))
        bias = constant(RANDOM.integers(-900, 900, (1, 1, 1, 6)).astype("int32"))
        y = requantize(emit, emit(op.add(bias, y)), low=0, swap=True)
        z = conv2d(emit, y, int8(1, 1, 6, 5))
        return emit(op.nn.relu(requantize(emit, z, 0.02)))

    regions = check([(1, 4, 4, 4)], body, ["conv2d", "conv2d"])
    assert [region.attrs["relu"] for region in regions] == [True, True]


def sums_of(emit, x, kind):
    if kind == "matmul":
        return emit(op.matmul(x, constant(int8(5, 11)), out_dtype="int32"), "product")
    if kind == "depthwise_conv2d":
        return conv2d(emit, x, int8(3, 3, 1, 5), groups=5, padding=1)
    if kind == "conv2d":
        return conv2d(emit, x, int8(3, 3, 5, 11), padding=1)
    return image_sum(emit, x)


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("kind", ["conv2d", "depthwise_conv2d", "matmul", "global_avg_pool"])
def test_sums_that_nothing_requantizes(kind, has_bias):
    def body(emit, x):
        y = sums_of(emit, x, kind)
        if has_bias and kind != "global_avg_pool":
            y = add_bias(emit, y, int(y.ty.shape[-1]))
        return emit(op.right_shift(y, relax.const(np.int32(3))))

    (region,) = check([(1, 6, 7, 5)], body, [kind])
    assert region.attrs["sums"] and not region.attrs.get("relu")
    assert bool(region.attrs.get("bias")) is (has_bias and kind != "global_avg_pool")
    assert region.operator.args[-1].dtype == "int32"


def test_scales_per_channel_are_the_hosts():
    """Each channel by its own, rounded and clipped there: the bytes are those of the whole."""

    def body(emit, x):
        sums = add_bias(emit, conv2d(emit, x, int8(3, 3, 4, 6), padding=1), 6)
        scales = constant(np.linspace(0.002, 0.02, 6, dtype="float32"))
        scaled = emit(op.multiply(emit(op.astype(sums, "float32")), scales))
        y = emit(op.astype(emit(op.clip(emit(op.round(scaled)), -128, 127)), "int8"))
        return requantize(emit, conv2d(emit, y, int8(1, 1, 6, 5)))

    first, second = check([(1, 8, 8, 4)], body, ["conv2d", "conv2d"])
    assert first.attrs["sums"] and first.attrs["bias"]
    assert "sums" not in second.attrs


def test_sums_that_are_requantized_and_used_are_computed_once():
    def body(emit, x):
        y = conv2d(emit, x, int8(1, 1, 4, 6))
        return relax.Tuple([requantize(emit, y), y])

    (region,) = check([(1, 4, 4, 4)], body, ["conv2d"])
    assert region.attrs["sums"]


def test_a_chain_keeps_host_operations_between_regions():
    def body(emit, x):
        y = relu(emit, requantize(emit, conv2d(emit, x, int8(3, 3, 4, 8), padding=1)))
        y = emit(op.nn.max_pool2d(y, (2, 2), (2, 2), layout="NHWC"))
        f = emit(op.sigmoid(emit(op.multiply(emit(op.astype(y, "float32")), relax.const(0.02)))))
        q = emit(
            op.astype(
                emit(op.clip(emit(op.round(emit(op.multiply(f, relax.const(99.0))))), -128, 127)),
                "int8",
            )
        )
        z = requantize(emit, conv2d(emit, q, int8(1, 1, 8, 5)))
        return relax.Tuple([z, y])

    check([(1, 8, 8, 4)], body, ["conv2d", "max_pool2d", "conv2d"])


def test_an_output_inside_of_a_longer_region_ends_it_before():
    def body(emit, x):
        y = requantize(emit, conv2d(emit, x, int8(1, 1, 4, 6)))
        return relax.Tuple([y, relu(emit, y)])

    (region,) = check([(1, 4, 4, 4)], body, ["conv2d"])
    assert not region.attrs["relu"]


def test_equal_layers_get_different_names():
    def body(emit, x):
        for _ in range(2):
            x = requantize(emit, conv2d(emit, x, int8(1, 1, 4, 4)))
        return x

    regions = check([(1, 4, 4, 4)], body, ["conv2d", "conv2d"])
    assert len({region.name for region in regions} | {"main"}) == 3
