"""The quantizer on small functions: what becomes integer, and that it stays close to float."""

import numpy as np
import pytest
from quantization_accuracy import compare
from relax_functions import constant, function_of
from tvm import relax

from npu_target.device.shift_rule import ShiftRule
from npu_target.host import build_host, run_host
from npu_target.quantize import QuantizeError, QuantizeOptions, quantize
from npu_target.relax_graph import Graph, GraphError, dtype_of, op_name

RANDOM = np.random.default_rng(0)
IMAGE = (1, 9, 8, 5)


def normal(*shape, deviation=1.0):
    return (RANDOM.normal(size=shape) * deviation).astype("float32")


def weight(*shape):
    return constant(normal(*shape, deviation=np.sqrt(2.0 / np.prod(shape[:-1]))))


def conv(x, outputs, groups=1, **options):
    inputs = int(x.ty.shape[3])
    layout = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    kernel = weight(3, 3, inputs // groups, outputs)
    return relax.op.nn.conv2d(x, kernel, padding=1, groups=groups, **layout, **options)


def conv_bias_relu(emit, x):
    y = emit(relax.op.add(emit(conv(x, 6)), constant(normal(6))))
    return emit(relax.op.nn.relu(y))


def depthwise_strided(emit, x):
    return emit(relax.op.add(constant(normal(1, 1, 1, 5)), emit(conv(x, 5, 5, strides=2))))


def dilated_without_bias(emit, x):
    return emit(relax.op.nn.relu(emit(conv(x, 4, dilation=2))))


def relu6(emit, x):
    y = emit(relax.op.clip(emit(conv(x, 6)), 0.0, 1.5))
    return emit(conv(y, 4))


def residual(emit, x):
    y = emit(conv(x, 5))
    z = emit(relax.op.nn.relu(emit(relax.op.add(y, x))))
    return emit(conv(z, 3))


def both_uses_of_a_convolution(emit, x):
    y = emit(conv(x, 5))
    return emit(relax.op.add(emit(relax.op.nn.relu(y)), y))


def pooled(emit, x):
    y = emit(relax.op.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1), layout="NHWC"))
    return emit(relax.op.mean(emit(conv(y, 7)), [1, 2]))


def pooled_by_window(emit, x):
    y = emit(relax.op.nn.relu(emit(conv(x, 7))))
    y = emit(relax.op.nn.avg_pool2d(y, (9, 8), layout="NHWC"))
    return emit(relax.op.matmul(emit(relax.op.reshape(y, (1, 7))), weight(7, 11)))


def pooled_adaptively(emit, x):
    y = emit(relax.op.nn.adaptive_avg_pool2d(x, (1, 1), layout="NHWC"))
    return emit(relax.op.matmul(emit(relax.op.squeeze(y, [1, 2])), weight(5, 4)))


def dense_with_transposed_weight(emit, x):
    y = emit(relax.op.reshape(x, (9, 40)))
    y = emit(relax.op.matmul(y, emit(relax.op.permute_dims(weight(6, 40)))))
    return emit(relax.op.add(y, constant(normal(6))))


def attention(emit, x):
    q = emit(relax.op.reshape(x, (9, 8, 5)))
    scores = emit(relax.op.matmul(q, emit(relax.op.permute_dims(q, [0, 2, 1]))))
    return emit(relax.op.matmul(emit(relax.op.nn.softmax(scores)), q))


def float_in_between(emit, x):
    y = emit(relax.op.sigmoid(emit(conv(x, 5))))
    return emit(conv(emit(relax.op.multiply(y, x)), 4))


def two_outputs(emit, x):
    y = emit(conv(x, 5))
    return relax.Tuple([y, emit(relax.op.split(y, 5, axis=3))[1]])


BODIES = [
    conv_bias_relu,
    depthwise_strided,
    dilated_without_bias,
    relu6,
    residual,
    both_uses_of_a_convolution,
    pooled,
    pooled_by_window,
    pooled_adaptively,
    dense_with_transposed_weight,
    attention,
    float_in_between,
    two_outputs,
]


@pytest.mark.long
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_results_stay_close_to_float(body):
    mod = function_of([IMAGE], body)
    inputs = [normal(*IMAGE) for _ in range(3)]
    quantized = quantize(mod, inputs)
    float_network, integer_network = build_host(mod), build_host(quantized.mod)
    x = inputs[0]
    for a, b in zip(run_host(float_network, x), run_host(integer_network, x), strict=True):
        assert b.shape == a.shape
        assert b.dtype == a.dtype == np.float32
        noise = np.sum((a - b) ** 2) / np.sum(a**2)
        assert 10 * np.log10(1 / noise) > 25


def decibels(mod, quantized, x):
    """The worst signal to noise of the outputs."""
    found = run_host(build_host(quantized.mod), x)
    pairs = list(zip(run_host(build_host(mod), x), found, strict=True))
    return min(10 * np.log10(np.sum(a**2) / np.sum((a - b) ** 2)) for a, b in pairs)


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "rule"),
    [
        *((body, ShiftRule()) for body in BODIES),
        *((body, ShiftRule(most_bits=10)) for body in (residual, attention)),
        *((body, ShiftRule(rounds=False)) for body in (residual, pooled)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_shifts_stay_close_to_float(body, rule):
    """A scale that is up to twice as coarse takes up to 6 dB; rounding down, another 6."""
    mod = function_of([IMAGE], body)
    inputs = [normal(*IMAGE) for _ in range(3)]
    assert decibels(mod, quantize(mod, inputs, rule=rule), inputs[0]) > (20 if rule.rounds else 14)


@pytest.mark.parametrize("body", [residual, pooled_by_window, attention, relu6])
def test_all_scales_of_shifts_are_powers_of_two(body):
    mod = function_of([IMAGE], body)
    rule = ShiftRule(most_bits=10)
    quantized = quantize(mod, [normal(*IMAGE)], rule=rule)
    assert all(np.frexp(scale)[0] == 0.5 for scale in quantized.scales.values())
    for name, numbers in quantized.parameters.items():
        if not name.startswith(("quantize_", "dequantize_")):
            assert rule.refusal(float(numbers["scale"])) is None
    # What is not float32 is shifted, not multiplied by a scale.
    names = [name for name, _ in calls(quantized.mod)]
    floats = sum(name.startswith(("quantize_", "dequantize_")) for name in quantized.parameters)
    integers = len(quantized.parameters) - floats
    assert names.count("relax.right_shift") + names.count("relax.left_shift") <= integers
    assert names.count("relax.round") == sum(
        name.startswith("quantize_") for name in quantized.parameters
    )


def test_a_product_of_activations_that_no_shift_scales_is_refused():
    def body(emit, x):
        return emit(relax.op.matmul(emit(relax.op.reshape(x, (9, 40))), y_of(emit, x)), "product")

    def y_of(emit, x):
        return emit(relax.op.permute_dims(emit(relax.op.reshape(x, (9, 40)))))

    mod = function_of([IMAGE], body)
    with pytest.raises(QuantizeError, match=r"product: the scale .* is no power of two"):
        quantize(mod, [normal(*IMAGE)], rule=ShiftRule(most_bits=2))


def calls(mod):
    graph = Graph(mod)
    return [(op_name(graph.value[var]), dtype_of(var)) for var in graph.order]


@pytest.mark.parametrize(
    ("body", "integer"),
    [
        (conv_bias_relu, ["conv2d", "add"]),
        (residual, ["conv2d", "multiply", "multiply", "add", "conv2d"]),
        (pooled, ["conv2d", "sum"]),
        (attention, ["matmul", "matmul"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_sums_are_int32_and_nothing_else_is(body, integer):
    found = [
        name.rpartition(".")[2]
        for name, dtype in calls(quantize(function_of([IMAGE], body), [normal(*IMAGE)]).mod)
        if dtype == "int32" and name != "relax.astype"
    ]
    assert found == integer


def test_relu_is_fused_after_requantization():
    mod = quantize(function_of([IMAGE], conv_bias_relu), [normal(*IMAGE)]).mod
    names = [name.rpartition(".")[2] for name, _ in calls(mod)]
    end = ["astype", "multiply", "round", "clip", "astype", "maximum", "astype", "multiply"]
    assert names[-8:] == end


def test_a_relu_that_is_cut_off_is_fused_and_saturates_at_the_cut():
    quantized = quantize(function_of([IMAGE], relu6), [normal(*IMAGE)])
    assert quantized.scales["lv"] == pytest.approx(1.5 / 127)
    names = [name.rpartition(".")[2] for name, dtype in calls(quantized.mod)]
    assert names.count("maximum") == 1
    # Float clips but those that requantize are gone.
    assert names.count("clip") == names.count("round") == 3


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (0.5, 2.0)])
def test_a_clip_that_is_no_relu_is_a_table(bounds):
    def body(emit, x):
        return emit(conv(emit(relax.op.clip(emit(conv(x, 6)), *bounds), "clipped"), 4))

    quantized = quantize(function_of([IMAGE], body), [normal(*IMAGE)])
    names = [name for name, _ in calls(quantized.mod)]
    assert "relax.maximum" not in names
    assert names.count("relax.clip") == names.count("relax.round")
    table = quantized.parameters["clipped"]["table"] * quantized.scales["clipped"]
    assert table.min() == pytest.approx(bounds[0], abs=quantized.scales["clipped"])
    assert table.max() == pytest.approx(bounds[1], abs=quantized.scales["clipped"])


def test_unknown_operations_stay_float_between_conversions():
    def body(emit, x):
        return emit(conv(emit(relax.op.nn.softmax(emit(conv(x, 5)))), 4))

    mod = quantize(function_of([IMAGE], body), [normal(*IMAGE)]).mod
    assert ("relax.nn.softmax", "float32") in calls(mod)


def test_kept_operations_stay_float():
    def body(emit, x):
        return emit(conv(emit(conv(x, 5), "first"), 4), "second")

    mod = function_of([IMAGE], body)
    options = QuantizeOptions(keep_float=frozenset({"first"}))
    convolutions = [
        c for c in calls(quantize(mod, [normal(*IMAGE)], options).mod) if "conv2d" in c[0]
    ]
    assert [dtype for _, dtype in convolutions] == ["float32", "int32"]
    with pytest.raises(QuantizeError, match=r"keep_float names .* not there: \['third'\]"):
        quantize(mod, [normal(*IMAGE)], QuantizeOptions(keep_float=frozenset({"third"})))


def test_parameters_are_the_numbers_in_the_graph():
    def body(emit, x):
        y = emit(relax.op.add(emit(conv(x, 6), "layer"), constant(normal(6))))
        return emit(relax.op.nn.relu(y))

    quantized = quantize(function_of([IMAGE], body), [normal(*IMAGE)])
    layer = quantized.parameters["layer"]
    assert {name: (v.dtype.name, v.shape) for name, v in layer.items()} == {
        "weight": ("int8", (3, 3, 5, 6)),
        "bias": ("int32", (6,)),
        "scale": ("float32", ()),
    }
    scales = quantized.scales
    assert float(quantized.parameters["quantize_x0"]["scale"]) == pytest.approx(1 / scales["x0"])
    assert float(quantized.parameters["dequantize_layer"]["scale"]) == pytest.approx(
        scales["layer"]
    )


def test_a_bias_far_above_the_products_still_fits():
    def body(emit, x):
        y = emit(
            relax.op.nn.conv2d(
                x,
                constant(normal(1, 1, 5, 2, deviation=1e-9)),
                data_layout="NHWC",
                kernel_layout="HWIO",
            )
        )
        return emit(relax.op.add(y, constant(np.array([3.0, -2.0], "float32"))))

    mod = function_of([IMAGE], body)
    assert compare(mod, quantize(mod, [normal(*IMAGE)]).mod, [normal(*IMAGE)]).sqnr_db > 40


def test_zero_weights_and_zero_inputs_work():
    def body(emit, x):
        return emit(
            relax.op.nn.conv2d(
                x,
                constant(np.zeros((1, 1, 5, 2), "float32")),
                data_layout="NHWC",
                kernel_layout="HWIO",
            )
        )

    mod = quantize(function_of([IMAGE], body), [np.zeros(IMAGE, "float32")]).mod
    assert (run_host(build_host(mod), normal(*IMAGE))[0] == 0).all()


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ([], "at least one input"),
        ([np.zeros((1, 9, 8, 4), "float32")], r"x0 must be float32 \(1, 9, 8, 5\), it is float32"),
        ([np.zeros(IMAGE)], "it is float64"),
        ([[np.zeros(IMAGE, "float32")] * 2], "main takes 1 arguments, there are 2"),
        ([np.full(IMAGE, np.nan, "float32")], "not a number"),
    ],
)
def test_calibration_inputs_are_checked(inputs, text):
    with pytest.raises(QuantizeError, match=text):
        quantize(function_of([IMAGE], conv_bias_relu), inputs)


def test_a_module_without_main_is_refused():
    mod = function_of([IMAGE], conv_bias_relu)
    mod["other"] = mod["main"].with_attr("global_symbol", "other")
    del mod["main"]
    with pytest.raises(GraphError, match=r"needs a function 'main', it has \['other'\]"):
        quantize(mod, [normal(*IMAGE)])
