"""What stays on the host, and the reason that is given for it."""

import dataclasses
import io

import numpy as np
import pytest
from partition.integer_functions import (
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
from rich.console import Console
from tvm import relax
from tvm.relax import op

from npu_target.devices.gemmini import GemminiConfig
from npu_target.devices.vta import VtaConfig
from npu_target.integer import Table, emit
from npu_target.partition import explain, partition

IMAGE = (1, 8, 8, 4)
CONFIG = GemminiConfig()


def decisions_of(body, shapes=(IMAGE,), config=CONFIG, dtype="int8"):
    return partition(function_of(list(shapes), body, dtype), config).decisions


def conv(emit, x, shape=(3, 3, 4, 6), scale=0.01, **options):
    return requantize(emit, conv2d(emit, x, int8(*shape), **options), scale)


def per_channel_scale(emit, x):
    value = emit(op.astype(conv2d(emit, x, int8(3, 3, 4, 6)), "float32"))
    scaled = emit(op.multiply(value, constant(np.linspace(0.1, 0.2, 6, dtype="float32"))))
    return emit(op.astype(emit(op.clip(emit(op.round(scaled)), -128, 127)), "int8"))


def spatial_bias(emit, x):
    y = conv2d(emit, x, int8(3, 3, 4, 6))
    return requantize(emit, emit(op.add(y, constant(np.ones((1, 6, 6, 6), "int32")))))


def leaking(emit, x):
    y = conv2d(emit, x, int8(3, 3, 4, 6))
    return relax.Tuple([requantize(emit, y), y])


def nchw(emit, x):
    y = conv2d(emit, x, int8(3, 3, 8, 6), data_layout="NCHW")
    return requantize(emit, y)


def sums_in_int8(emit, x):
    return conv2d(emit, x, int8(3, 3, 4, 6), out_dtype="int8")


def padded(emit, x, value):
    return emit(op.nn.pad(x, [0, 0, 1, 1, 1, 1, 0, 0], pad_value=value), "padding")


def pool(emit, x, size=(3, 3), strides=(2, 2), padding=0, **options):
    pooled = op.nn.max_pool2d(x, size, strides, padding, layout="NHWC", **options)
    return emit(pooled, "pool")


HOST = [
    (nchw, "conv", "layout NCHW -> NCHW, the device computes NHWC"),
    (sums_in_int8, "conv", "sums in int8, the device sums in int32 (out_dtype)"),
    (
        lambda e, x: pool(e, x, padding=1, ceil_mode=True),
        "pool",
        "ceil_mode counts windows that reach past the padding",
    ),
    (
        lambda e, x: pool(e, padded(e, x, -3), padding=1),
        "padding",
        "moves data only",
    ),
    (
        lambda e, x: conv(e, padded(e, x, 5), padding=1),
        "padding",
        "moves data only",
    ),
    (lambda e, x: pool(e, relu(e, x), (4, 4)), "pool", "size is 4, the store unit takes 3"),
    (lambda e, x: pool(e, x, (3, 2)), "pool", "the device pools squares"),
    (lambda e, x: pool(e, x, (2, 2), dilation=(2, 2)), "pool", "dilation (2, 2)"),
    (
        lambda e, x: pool(e, x, (3, 3), (2, 2), ceil_mode=True),
        "pool",
        "ceil_mode counts windows that reach past the padding",
    ),
    (
        lambda e, x: requantize(e, image_sum(e, x, (2, 3))),
        "sum",
        "a sum over axes (2, 3), the device sums lines and pixels of NHWC (1, 2)",
    ),
    (lambda e, x: e(op.abs(x), "act"), "act", "the device has no operation for abs"),
    (lambda e, x: e(op.reshape(x, (64, 4)), "view"), "view", "moves data only"),
    (lambda e, x: e(op.nn.relu(x), "act"), "act", "ReLU with no device operation right before"),
]


@pytest.mark.parametrize(("body", "name", "reason"), HOST, ids=[case[2][:40] for case in HOST])
def test_each_refusal_has_its_reason(body, name, reason):
    (decision,) = [d for d in decisions_of(body) if d.name == name]
    assert decision.where == "host"
    assert reason in decision.reason


# What of these the device does not do with a convolution, whose sums it gives instead.
APART = [
    (per_channel_scale, "6 scales, one a channel, that differ within blocks of 16 channels"),
    (spatial_bias, "its bias of shape (1, 6, 6, 6) is not one value a channel"),
    (leaking, "its intermediate value conv is used elsewhere"),
    (
        lambda e, x: requantize(e, conv2d(e, x, int8(3, 3, 4, 6)), low=-127),
        "clipped to -127..127, the device saturates to -128..127",
    ),
]


@pytest.mark.parametrize(("body", "reason"), APART, ids=[case[1][:40] for case in APART])
def test_what_the_host_requantizes_has_its_reason(body, reason):
    decisions = decisions_of(body)
    assert [d.region for d in decisions if d.name == "conv"] == ["conv"]
    (told,) = [d for d in decisions if d.reason.startswith("not together with conv: ")]
    assert told.where == "host" and reason in told.reason
    assert any(d.reason == "requantizes sums on the host" for d in decisions)


def test_a_device_whose_stores_requantize_says_so():
    config = dataclasses.replace(CONFIG, name="plain", has_acc_full_width_store=False)
    for device in (config, VtaConfig(name="plain")):
        (decision,) = decisions_of(lambda e, x: conv2d(e, x, int8(3, 3, 4, 6)), config=device)
        assert decision.where == "host"
        assert decision.reason == (
            "sums that are not requantized as the device does it: the stores of plain give none as "
            "they are"
        )
    decisions = decisions_of(per_channel_scale, config=config)
    assert [d.reason for d in decisions if d.name == "conv"] == [
        "6 scales, one a channel, that differ within blocks of 16 channels: plain has one a block"
    ]


def test_operations_of_integer_networks_say_which_they_are():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(IMAGE, "int8"))
    with builder.function("main", [x]):
        with builder.dataflow():
            table = emit(builder, Table(tuple(range(-128, 128))), [x], "activation")
            result = builder.emit_output(table)
        builder.emit_func_output(result)
    (decision,) = partition(builder.get(), CONFIG).decisions
    assert (decision.op, decision.name, decision.where) == ("table", "activation", "host")
    assert decision.reason == "no operation of the device: a function of the host computes it"


def test_products_of_tensors_say_that_they_are():
    def body(emit, x, y):
        wide = [emit(op.astype(value, "int32")) for value in (x, y)]
        return requantize(emit, emit(op.multiply(*wide), "product"))

    (decision,) = [d for d in decisions_of(body, (IMAGE, IMAGE)) if d.name == "product"]
    assert decision.reason == "the device multiplies no two tensors element by element"


def test_float_operations_say_their_type():
    decisions = decisions_of(lambda e, x: e(op.add(x, x), "sum"), dtype="float32")
    assert decisions[0].reason == "computes float32, the device computes int8"


@pytest.mark.parametrize(
    ("shape", "options", "reason"),
    [
        ((3, 3, 2, 6), {"groups": 2}, "2 groups of 4 input and 6 output"),
        ((3, 3, 4, 6), {"dilation": 2, "strides": 2}, "dilation (2, 2), the device has 1 only"),
    ],
)
def test_weights_that_are_computed_are_not_laid_out_anew(shape, options, reason):
    def body(emit, x, weight):
        return requantize(emit, conv2d(emit, x, weight, **options))

    assert reason in decisions_of(body, [IMAGE, shape])[0].reason


def test_a_bias_that_is_computed_is_added_on_the_host():
    def body(emit, x):
        y = conv2d(emit, x, int8(3, 3, 4, 6))
        bias = emit(op.sum(emit(op.astype(x, "int32")), [0, 1, 2, 3]))
        return requantize(emit, emit(op.add(y, bias)))

    decisions = decisions_of(body)
    assert [d.region for d in decisions if d.name == "conv"] == ["conv"]
    reason = "not together with conv: its bias is not constant"
    assert [d.where for d in decisions if d.reason == reason] == ["host"]


def test_a_pool_pads_with_zeros_where_its_input_cannot_be_negative():
    for source in (
        lambda e, x: relu(e, x),
        lambda e, x: requantize(e, conv2d(e, x, int8(3, 3, 4, 6)), low=0),
        lambda e, x: pool(e, relu(e, x)),
        lambda e, x: e(op.reshape(relu(e, x), (1, 4, 16, 4))),
    ):
        mod = function_of(
            [IMAGE], lambda e, x, s=source: e(pool(e, s(e, x), padding=1), "last"), "int8"
        )
        assert partition(mod, CONFIG).regions[-1].operator.pad_value == 0


def test_a_device_without_a_feature_says_so():
    config = dataclasses.replace(CONFIG, has_pooling=False)
    (decision,) = decisions_of(pool, [IMAGE], config)
    assert "its stores pool nothing" in decision.reason
    assert all(decision.where == "device" for decision in decisions_of(pool, [IMAGE]))


@pytest.mark.parametrize(
    ("multiplier", "reason"),
    [
        (128, "multiplier of b must be -128 to 127, got 128"),
        ([1, 2, 3, 4], "4 multipliers of an operand (per channel?), the device takes one"),
    ],
)
def test_multipliers_that_are_no_int8_number(multiplier, reason):
    def body(emit, a, b):
        return residual(emit, a, b, by_b=np.array(multiplier))

    (decision,) = [d for d in decisions_of(body, [IMAGE, IMAGE]) if d.name == "sum"]
    assert reason in decision.reason


def small_network(emit, x):
    y = add_bias(emit, conv2d(emit, x, int8(3, 3, 4, 6), padding=1), 6)
    y = pool(emit, relu(emit, requantize(emit, y)))
    return emit(op.sigmoid(emit(op.astype(y, "float32"))), "act")


def test_every_operation_is_decided_once_and_regions_are_whole():
    partitioned = partition(function_of([IMAGE], small_network, "int8"), CONFIG)
    decided = [(decision.name, decision.region) for decision in partitioned.decisions]
    assert len(decided) == len({name for name, _ in decided}) == 11
    assert [region for _, region in decided] == ["conv"] * 8 + ["pool", None, None]
    assert all(decision.reason for decision in partitioned.decisions)


def test_the_table_names_regions_and_reasons():
    console = Console(width=200, record=True, file=io.StringIO())
    explain(partition(function_of([IMAGE], small_network, "int8"), CONFIG), console)
    text = console.export_text()
    (row,) = [line for line in text.splitlines() if " conv " in line]
    assert "the device computes conv2d + bias + requantize + relu" in row
    assert "the device has no operation for sigmoid" in text
    assert "2 device regions (9 of 11 operations" in text


def test_what_has_no_room_in_any_tile_stays_on_the_host():
    config = dataclasses.replace(CONFIG, name="tiny", spad_banks=1, spad_bank_rows=16)
    (decision,) = [
        d for d in decisions_of(lambda e, x: conv(e, x), config=config) if d.name == "conv"
    ]
    assert decision.where == "host"
    assert "not even a tile of one step has room in the memories of tiny" in decision.reason
    assert "16 of weights and " in decision.reason


def test_a_product_with_a_constant_converts_and_one_of_two_tensors_does_not():
    def scaled(emit, x):
        value = emit(op.astype(x, "float32"))
        return emit(op.multiply(emit(op.multiply(value, constant(np.float32(0.5)))), value))

    reasons = [decision.reason for decision in decisions_of(scaled)]
    converts = "int8 to float32: dequantizes for the host"
    assert reasons == [
        converts, converts, "the device multiplies no two tensors element by element",
    ]  # fmt: skip


def test_float_operations_behind_a_float_input_quantize_nothing():
    def rounded(emit, x):
        return emit(op.round(emit(op.multiply(x, constant(np.float32(0.5))))))

    reasons = {decision.reason for decision in decisions_of(rounded, dtype="float32")}
    assert reasons == {"computes float32, the device computes int8"}
