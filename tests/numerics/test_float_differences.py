"""What quantizing costs: each layer given the float network's values, and all behind each other."""

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op

from npu_target.device.scale_rule import ScaleRule
from npu_target.host import build_host, run_host
from npu_target.numerics.float_differences import float_differences
from npu_target.quantize import quantize

RULE = ScaleRule()


def dense_layers(count=4, width=32, gelu=False):
    builder = relax.BlockBuilder()
    random = np.random.default_rng(0)
    image = relax.Var("image", relax.TensorType((4, width), "float32"))
    weights = []
    with builder.function("main", [image]):
        with builder.dataflow():
            value = image
            for number in range(count):
                weight = random.normal(0, (2 / width) ** 0.5, (width, width)).astype("float32")
                weights.append(weight)
                value = builder.emit(op.matmul(value, relax.const(weight)), f"layer{number}")
                value = builder.emit(op.nn.relu(value), f"relu{number}")
            if gelu:
                # Stays in float, between two layers.
                value = builder.emit(op.nn.softmax(value, axis=-1), "softmax")
                value = builder.emit(op.matmul(value, relax.const(weights[0])), "last")
            out = builder.emit_output(value)
        builder.emit_func_output(out)
    return builder.get(), weights


@pytest.fixture(scope="module")
def found():
    mod, weights = dense_layers()
    random = np.random.default_rng(1)
    samples = [[random.normal(size=(4, 32)).astype("float32")] for _ in range(3)]
    made = quantize(mod, samples, rule=RULE)
    return weights, samples, made, float_differences(mod, made, samples)


def test_the_first_layer_has_nothing_before_it(found):
    _, _, _, report = found
    assert list(report.tensors) == ["image", "layer0", "layer1", "layer2", "layer3"]
    for label in ("image", "layer0"):
        assert report.tensors[label].alone == report.tensors[label].accumulated


def test_alone_is_what_numpy_makes_of_the_float_networks_values(found):
    weights, samples, made, report = found
    previous = [sample[0] for sample in samples]
    before = "image"
    for number, weight in enumerate(weights):
        label = f"layer{number}"
        noise = signal = 0.0
        following = []
        for value in previous:
            steps = np.clip(np.rint(value.astype("float64") / made.scales[before]), -128, 127)
            numbers = made.parameters[label]
            sums = (steps @ numbers["weight"].astype("int64")).astype("int32")
            result = np.maximum(RULE.evaluate(sums, float(numbers["scale"])), 0)
            right = np.maximum(value @ weight, 0)
            noise += np.sum((result * made.scales[label] - right.astype("float64")) ** 2)
            signal += np.sum(right.astype("float64") ** 2)
            following.append(right)
        alone = report.tensors[label].alone
        # Sums of floats in another order may round one step otherwise at a tie.
        assert alone.snr_db == pytest.approx(10 * np.log10(signal / noise), abs=0.05)
        previous, before = following, label


def test_errors_add_up_along_the_network_and_not_alone(found):
    *_, report = found
    alone = [report.tensors[f"layer{number}"].alone.snr_db for number in range(4)]
    behind = [report.tensors[f"layer{number}"].accumulated.snr_db for number in range(4)]
    assert max(alone) - min(alone) < 6
    assert behind[3] < alone[3] - 2 and behind[3] < behind[0]


def test_what_stays_in_float_belongs_to_the_layer_behind_it():
    mod, weights = dense_layers(2, gelu=True)
    samples = [[np.random.default_rng(2).normal(size=(4, 32)).astype("float32")]]
    made = quantize(mod, samples, rule=RULE)
    report = float_differences(mod, made, samples)
    (label,) = [name for name in report.tensors if name.startswith("softmax")]
    value = samples[0][0]
    for weight in weights:
        value = np.maximum(value @ weight, 0)
    steps = np.clip(np.rint(value.astype("float64") / made.scales["layer1"]), -128, 127)
    scores = np.exp(steps * made.scales["layer1"])
    given = scores / scores.sum(-1, keepdims=True)
    right = np.exp(value - value.max(-1, keepdims=True))
    right /= right.sum(-1, keepdims=True)
    result = np.clip(np.rint(given / made.scales[label]), -128, 127) * made.scales[label]
    apart = report.tensors[label].alone
    assert apart.noise == pytest.approx(np.sum((result - right) ** 2), rel=0.05)


def test_outputs_are_those_of_both_networks(found):
    _, samples, made, _ = found
    mod, _ = dense_layers()
    seen = []
    report = float_differences(mod, made, samples, lambda *args: seen.append(args))
    assert [number for number, *_ in seen] == [0, 1, 2]
    for number, right, other in seen:
        np.testing.assert_array_equal(other[0], run_host(build_host(made.mod), *samples[number])[0])
        np.testing.assert_allclose(
            right[0], run_host(build_host(mod), *samples[number])[0], rtol=1e-5, atol=1e-6
        )
    assert report.outputs[0].elements == 3 * 4 * 32
