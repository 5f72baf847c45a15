"""The network's structure, against a float NumPy evaluation and against known facts."""

from dataclasses import replace

import numpy as np
import pytest

from npu_target.host import build_host, run_host
from npu_target.models import ModelError, get_model
from npu_target.models.parameters import seeded_parameters
from npu_target.models.resnet import (
    RESNET18,
    RESNET50,
    ResNetConfig,
    build_resnet,
    parameter_shapes,
)

SMALL = ResNetConfig(image_size=32, stem_channels=8, blocks_per_stage=(1, 2), classes=10)


def test_resnet18_has_the_parameters_of_torchvision():
    shapes = parameter_shapes(RESNET18)
    trained = {k: v for k, v in shapes.items() if "running" not in k}
    assert sum(int(np.prod(shape)) for shape in trained.values()) == 11_689_512
    assert shapes["layer4.0.downsample.0.weight"] == (512, 256, 1, 1)
    assert shapes["fc.weight"] == (1000, 512)
    assert "layer1.0.downsample.0.weight" not in shapes


def test_resnet50_has_the_parameters_of_torchvision():
    shapes = parameter_shapes(RESNET50)
    trained = {k: v for k, v in shapes.items() if "running" not in k}
    assert sum(int(np.prod(shape)) for shape in trained.values()) == 25_557_032
    assert shapes["layer1.0.downsample.0.weight"] == (256, 64, 1, 1)
    assert shapes["layer4.0.conv2.weight"] == (512, 512, 3, 3)


def test_unknown_models_are_answered_with_the_known_ones():
    with pytest.raises(ModelError, match=r"unknown model 'resnet19'; known models: .*resnet18"):
        get_model("resnet19")


def convolve(x, weight, stride, pad):
    """NHWC image, OIHW weight, straight from the definition."""
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    kernel = weight.shape[2]
    rows, cols = ((extent - kernel) // stride + 1 for extent in x.shape[1:3])
    out = np.zeros((x.shape[0], rows, cols, weight.shape[0]))
    for r in range(rows):
        for c in range(cols):
            window = x[:, r * stride : r * stride + kernel, c * stride : c * stride + kernel]
            out[:, r, c] = np.einsum("nhwi,oihw->no", window, weight)
    return out


def evaluate(config, p, x):
    def conv_bn(x, conv, norm, stride, pad):
        y = convolve(x, p[f"{conv}.weight"].astype("float64"), stride, pad)
        y = (y - p[f"{norm}.running_mean"]) / np.sqrt(p[f"{norm}.running_var"] + 1e-5)
        return y * p[f"{norm}.weight"] + p[f"{norm}.bias"]

    x = np.maximum(conv_bn(x, "conv1", "bn1", 2, 3), 0)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    rows, cols = ((extent - 3) // 2 + 1 for extent in padded.shape[1:3])
    x = np.array(
        [
            [padded[0, 2 * r : 2 * r + 3, 2 * c : 2 * c + 3].max((0, 1)) for c in range(cols)]
            for r in range(rows)
        ]
    )[None]
    for stage, count in enumerate(config.blocks_per_stage):
        for block in range(count):
            name, stride = f"layer{stage + 1}.{block}", 2 if stage and not block else 1
            short = x
            if f"{name}.downsample.0.weight" in p:
                short = conv_bn(x, f"{name}.downsample.0", f"{name}.downsample.1", stride, 0)
            if config.bottleneck:
                y = np.maximum(conv_bn(x, f"{name}.conv1", f"{name}.bn1", 1, 0), 0)
                y = np.maximum(conv_bn(y, f"{name}.conv2", f"{name}.bn2", stride, 1), 0)
                y = conv_bn(y, f"{name}.conv3", f"{name}.bn3", 1, 0)
            else:
                y = np.maximum(conv_bn(x, f"{name}.conv1", f"{name}.bn1", stride, 1), 0)
                y = conv_bn(y, f"{name}.conv2", f"{name}.bn2", 1, 1)
            x = np.maximum(y + short, 0)
    return x.mean((1, 2)) @ p["fc.weight"].T + p["fc.bias"]


@pytest.mark.parametrize("bottleneck", [False, True])
def test_computes_the_network(bottleneck):
    config = replace(SMALL, bottleneck=bottleneck)
    parameters = seeded_parameters(parameter_shapes(config), 1, config)
    x = np.random.default_rng(0).normal(size=config.input_shape).astype("float32")
    (found,) = run_host(build_host(build_resnet(config, parameters)), x)
    np.testing.assert_allclose(found, evaluate(config, parameters, x), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "resnet50"])
def test_seeded_networks_keep_their_activations_in_size(name):
    model = get_model(name, seed=5)
    (logits,) = run_host(build_host(model.mod), model.calibration_inputs(1)[0])
    assert logits.shape == (1, 1000)
    assert 0.1 < logits.std() < 10


def test_weights_come_from_a_file(tmp_path):
    shapes = parameter_shapes(RESNET18)
    np.savez(tmp_path / "w.npz", **{k: np.ones(v, "float32") for k, v in shapes.items()})
    model = get_model("resnet18", tmp_path / "w.npz")
    (weight,) = [
        call.value.args[1].value.numpy()
        for call in model.mod["main"].body.blocks[0].bindings
        if call.var.name == "conv1"
    ]
    assert weight.shape == (7, 7, 3, 64)
    assert (weight == 1).all()
