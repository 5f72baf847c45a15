"""Operators of float networks in int8: near to float, and which of them are integer."""

import numpy as np
import pytest
from relax_functions import constant, function_of
from tvm import relax
from tvm.relax import op

from npu_target.device.shift_rule import ShiftRule
from npu_target.host import build_host, run_host
from npu_target.quantize import QuantizeOptions, quantize
from npu_target.relax_graph import Graph, dtype_of, op_name

IMAGE = (2, 6, 8, 5)
RANDOM = np.random.default_rng(0)
LAYOUT = {"data_layout": "NHWC", "kernel_layout": "HWIO"}


def normal(*shape, deviation=1.0):
    return (RANDOM.normal(size=shape) * deviation).astype("float32")


def number(value):
    return relax.const(np.float32(value))


def conv(emit, x, outputs=5, name=""):
    """By kernels of one position: so each follows and is followed by what is tried."""
    inputs = int(x.ty.shape[3])
    kernel = constant(normal(1, 1, inputs, outputs, deviation=(1 / inputs) ** 0.5))
    return emit(op.nn.conv2d(x, kernel, **LAYOUT), name)


class Quantizing:
    """A body quantized and run beside its float self."""

    def __init__(self, body, shapes=(IMAGE,), options=None):
        mod = function_of(list(shapes), body)
        self.inputs = [normal(*shape) for shape in shapes]
        self.quantized = quantize(mod, [self.inputs], options)
        self.wanted, self.found = (
            run_host(build_host(m), *self.inputs) for m in (mod, self.quantized.mod)
        )
        graph = Graph(self.quantized.mod)
        self.ops = [
            (op_name(graph.value[var]).removeprefix("relax."), dtype_of(var))
            for var in graph.order
            if op_name(graph.value[var])
        ]

    @property
    def decibels(self):
        return min(
            10 * np.log10(np.sum(a**2) / np.sum((a - b) ** 2))
            for a, b in zip(self.wanted, self.found, strict=True)
        )

    def count(self, name, dtype="int8"):
        return self.ops.count((name, dtype))


def silu_spelled(emit, x):
    return op.multiply(x, emit(op.sigmoid(x)))


def hard_swish(emit, x):
    gate = emit(op.clip(emit(op.add(x, number(3))), 0.0, 6.0))
    return op.multiply(emit(op.multiply(x, gate)), number(1 / 6))


def gelu_spelled(emit, x):
    inner = emit(op.erf(emit(op.multiply(x, number(0.5**0.5)))))
    return op.multiply(emit(op.multiply(x, number(0.5))), emit(op.add(inner, number(1))))


def elu(emit, x):
    negative = emit(op.subtract(emit(op.exp(x)), number(1)))
    return op.where(emit(op.greater(x, number(0))), x, negative)


def elu_compared_first(emit, x):
    positive = emit(op.greater(x, number(0)))
    return op.where(positive, x, emit(op.subtract(emit(op.exp(x)), number(1))))


FUNCTIONS = [
    lambda emit, x: op.sigmoid(x),
    lambda emit, x: op.tanh(x),
    lambda emit, x: op.exp(x),
    lambda emit, x: op.nn.silu(x),
    lambda emit, x: op.nn.gelu(x),
    lambda emit, x: op.nn.gelu_tanh(x),
    lambda emit, x: op.nn.leakyrelu(x, 0.1),
    lambda emit, x: op.nn.softplus(x),
    lambda emit, x: op.abs(x),
    lambda emit, x: op.clip(x, -0.5, 1.25),
    lambda emit, x: op.maximum(x, number(-0.5)),
    lambda emit, x: op.negative(x),
    silu_spelled,
    hard_swish,
    gelu_spelled,
    elu,
    elu_compared_first,
]


@pytest.mark.long
@pytest.mark.parametrize("function", range(len(FUNCTIONS)))
def test_a_function_of_the_elements_of_one_tensor_is_one_table(function):
    def body(emit, x):
        y = conv(emit, x, name="before")
        return conv(emit, emit(FUNCTIONS[function](emit, y), "function"), name="after")

    ran = Quantizing(body)
    assert ran.count("call_tir") == 1
    # Sums are quantized on the device; nothing else is float between the two convolutions.
    assert {name for name, dtype in ran.ops if dtype == "float32"} <= {
        "astype",
        "multiply",
        "round",
        "clip",
    }
    assert ran.decibels > 28
    # Its 256 values are those of the float function on what the int8 values are worth.
    scales = ran.quantized.scales
    source = np.arange(-128, 128).astype("float32") * np.float32(scales["before"])
    alone = function_of([(256,)], lambda emit, x: emit(FUNCTIONS[function](emit, x)))
    (values,) = run_host(build_host(alone), source)
    wanted = np.clip(np.rint(values.astype("float64") / scales["function"]), -128, 127)
    np.testing.assert_array_equal(ran.quantized.parameters["function"]["table"], wanted)


def test_what_is_used_in_float_is_computed_in_float():
    def body(emit, x):
        return emit(op.sigmoid(conv(emit, x)))

    ran = Quantizing(body)
    assert ran.count("sigmoid", "float32") == 1 and ran.count("call_tir") == 0


def test_a_product_with_a_number_is_another_scale():
    def body(emit, x):
        return conv(emit, emit(op.multiply(conv(emit, x, name="before"), number(0.3)), "less"))

    ran = Quantizing(body)
    assert ran.count("call_tir") == 0 and ran.decibels > 28
    scales = ran.quantized.scales
    assert scales["less"] == pytest.approx(0.3 * scales["before"])


@pytest.mark.parametrize("relu", [op.nn.relu6, lambda x: op.maximum(number(0), x)])
def test_relus_of_all_spellings_are_part_of_what_is_before(relu):
    def body(emit, x):
        large = emit(op.multiply(x, constant(np.full(5, 9, "float32"))))
        return conv(emit, emit(relu(conv(emit, large))))

    ran = Quantizing(body)
    assert ran.count("call_tir") == 0 and ran.count("maximum") == 1
    assert ran.decibels > 28


def test_a_part_of_a_function_that_is_used_elsewhere_is_a_table_of_its_own():
    def body(emit, x):
        y = conv(emit, x)
        gate = emit(op.sigmoid(y))
        return relax.Tuple([conv(emit, gate), conv(emit, emit(op.multiply(y, gate)))])

    ran = Quantizing(body)
    assert ran.count("call_tir") == 2 and ran.count("sigmoid", "float32") == 0
    assert ran.decibels > 28


def test_a_function_is_found_behind_a_product_of_its_tensor():
    def body(emit, x):
        y, z = conv(emit, x), conv(emit, x)
        parts = [emit(op.multiply(y, z)), emit(op.sigmoid(y)), emit(op.tanh(z))]
        return conv(emit, emit(op.concat(parts, axis=3)))

    ran = Quantizing(body)
    assert ran.count("call_tir") == 2 and ran.count("multiply", "int32") == 1
    assert ran.decibels > 25


def test_a_function_that_is_kept_in_float_is_no_table():
    def body(emit, x):
        y = emit(op.exp(emit(op.abs(conv(emit, x)), "kept")))
        return conv(emit, y)

    ran = Quantizing(body, options=QuantizeOptions(keep_float=frozenset({"kept"})))
    assert ran.count("abs", "float32") == 1 and ran.count("call_tir") == 0


def test_numbers_of_channels_make_no_table():
    def body(emit, x):
        return conv(emit, emit(op.multiply(emit(op.nn.relu(conv(emit, x))), constant(normal(5)))))

    ran = Quantizing(body)
    assert ran.count("call_tir") == 0 and ran.decibels > 28


@pytest.mark.parametrize("repeated", [False, True])
def test_a_product_of_two_tensors(repeated):
    """Also of one number a channel, as a squeeze and excitation has."""

    def body(emit, x):
        y, z = conv(emit, x), conv(emit, x)
        if repeated:
            z = conv(emit, emit(op.mean(z, [1, 2], keepdims=True)))
        return conv(emit, emit(op.multiply(y, z)))

    ran = Quantizing(body)
    assert ran.count("multiply", "int32") == 1
    assert ran.decibels > 25


def test_a_product_of_two_tensors_that_no_shift_scales_is_computed_in_float():
    def body(emit, x):
        return conv(emit, emit(op.multiply(conv(emit, x), conv(emit, x)), "product"))

    mod = function_of([IMAGE], body)
    inputs = [normal(*IMAGE)]
    integer = quantize(mod, [inputs], rule=ShiftRule(most_bits=3)).mod
    graph = Graph(integer)
    product = next(var for var in graph.order if var.name == "product")
    assert dtype_of(product) == "float32"


def test_a_difference_of_two_tensors():
    def body(emit, x):
        return emit(op.subtract(conv(emit, x), emit(op.multiply(conv(emit, x), number(0.3)))))

    ran = Quantizing(body)
    assert ran.count("add", "int32") == 1
    assert ran.decibels > 30


def test_a_sum_of_what_is_float_stays_float():
    def body(emit, x):
        y = emit(op.multiply(x, constant(normal(*IMAGE))))
        return conv(emit, emit(op.add(y, emit(op.multiply(x, constant(normal(5)))))))

    assert Quantizing(body).count("add", "float32") == 1


MOVES = {
    "slice": lambda x: op.strided_slice(x, [1, 3], [1, 0], [6, 4], [2, 1]),
    "take": lambda x: op.take(x, relax.const(np.array([3, 0], "int64")), axis=3),
    "pad": lambda x: op.nn.pad(x, [0, 0, 1, 2, 0, 1, 0, 0]),
    "reflect": lambda x: op.nn.pad(x, [0, 0, 1, 1, 1, 1, 0, 0], pad_mode="reflect"),
    "nearest": lambda x: op.image.resize2d(x, (9, 8), layout="NHWC", method="nearest_neighbor"),
    "flip": lambda x: op.flip(x, 1),
    "repeat": lambda x: op.repeat(x, 2, axis=1),
    "tile": lambda x: op.tile(x, (1, 1, 2, 1)),
    "max_pool1d": lambda x: op.nn.max_pool1d(op.reshape(x, (2, 48, 5)), 3, 2, 1, layout="NWC"),
    "max": lambda x: op.max(x, [1, 3]),
    "max_pool": lambda x: op.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1), layout="NHWC"),
}


@pytest.mark.long
@pytest.mark.parametrize("move", MOVES)
def test_moves_are_exact_in_int8(move):
    def body(emit, x):
        y = conv(emit, x)
        return relax.Tuple([y, emit(MOVES[move](y))])

    ran = Quantizing(body)
    assert ran.count("quantize", "int8") == 0
    moved = function_of([IMAGE], lambda emit, x: emit(MOVES[move](x)))
    (wanted,) = run_host(build_host(moved), ran.found[0])
    np.testing.assert_array_equal(ran.found[1], wanted)


def test_parts_of_a_split_keep_its_scale():
    def body(emit, x):
        parts = emit(op.split(conv(emit, x, 6), 3, axis=3))
        return conv(emit, emit(op.add(emit(parts[0]), emit(parts[2]))))

    ran = Quantizing(body)
    assert ran.count("strided_slice") == 2 and ran.decibels > 30


def test_what_is_only_joined_is_computed_in_the_scale_of_all():
    def body(emit, x):
        small = emit(op.multiply(conv(emit, x), number(0.1)))
        parts = [conv(emit, small), emit(op.nn.relu(conv(emit, x)))]
        return conv(emit, emit(op.concat(parts, axis=3)))

    ran = Quantizing(body)
    assert ran.count("concat") == 1
    assert ran.count("call_tir") == 0
    assert ran.decibels > 28


def test_what_is_used_elsewhere_is_rescaled_before_it_is_joined():
    def body(emit, x):
        small = conv(emit, emit(op.multiply(x, number(0.1))), name="small")
        joined = emit(op.concat([small, conv(emit, x)], axis=3), "joined")
        return relax.Tuple([conv(emit, joined), conv(emit, small)])

    ran = Quantizing(body)
    assert ran.count("concat") == 1 and ran.count("call_tir") == 1
    assert ran.quantized.scales["small"] < ran.quantized.scales["joined"] / 4
    assert ran.decibels > 28


@pytest.mark.parametrize("value", [-3.0, 0.7])
def test_padding_with_a_number(value):
    def body(emit, x):
        y = emit(op.nn.pad(conv(emit, x), [0, 0, 1, 1, 2, 0, 0, 0], pad_value=value), "padded")
        return conv(emit, y)

    ran = Quantizing(body)
    assert ran.count("nn.pad") == 1
    assert ran.quantized.scales["padded"] * 127 >= abs(value) * (1 - 1e-6)
    assert ran.decibels > 28


@pytest.mark.parametrize("compared", [op.maximum, op.minimum])
def test_the_larger_of_two_tensors(compared):
    def body(emit, x):
        return conv(emit, emit(compared(conv(emit, x), conv(emit, x))))

    ran = Quantizing(body)
    assert ran.count(compared.__name__) == 1 and ran.decibels > 28


def test_a_relu6_that_is_joined_with_larger_numbers_still_ends_at_6():
    def body(emit, x):
        many = emit(op.multiply(x, number(8)))
        parts = [emit(op.clip(conv(emit, many), 0.0, 6.0)), conv(emit, many)]
        return conv(emit, emit(op.concat(parts, axis=3)), name="last")

    assert Quantizing(body).decibels > 28


@pytest.mark.parametrize("count_include_pad", [True, False])
def test_average_pool(count_include_pad):
    def body(emit, x):
        options = {"layout": "NHWC", "count_include_pad": count_include_pad}
        y = op.nn.avg_pool2d(conv(emit, x), (3, 3), (1, 1), (1, 1), **options)
        return conv(emit, emit(y, "average"))

    ran = Quantizing(body)
    assert ran.count("nn.conv2d", "int32") == 2 + (1 if count_include_pad else 9)
    assert ran.count("call_tir") == 0  # the parts have one scale
    assert ran.decibels > 28
    if count_include_pad:
        assert (ran.quantized.parameters["average"]["weight"] == 127).all()


def test_an_embedding_stays_float():
    table = constant(normal(11, 8))
    weight = constant(normal(8, 4))

    builder = relax.BlockBuilder()
    words = relax.Var("words", relax.TensorType((2, 7), "int32"))
    with builder.function("main", [words]):
        with builder.dataflow():
            y = builder.emit(op.take(table, words, axis=0))
            result = builder.emit_output(op.matmul(y, weight))
        builder.emit_func_output(result)
    mod = builder.get()
    inputs = RANDOM.integers(0, 11, (2, 7)).astype("int32")
    integer = quantize(mod, [inputs]).mod
    (wanted,), (found,) = (run_host(build_host(m), inputs) for m in (mod, integer))
    assert 10 * np.log10(np.sum(wanted**2) / np.sum((wanted - found) ** 2)) > 30
    graph = Graph(integer)
    assert ("relax.matmul", "int32") in [
        (op_name(graph.value[var]), dtype_of(var)) for var in graph.order
    ]
