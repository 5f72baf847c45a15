"""MobileNetV2's structure, against a float NumPy evaluation and against known facts."""

import numpy as np
import pytest

from npu_target.host import build_host, run_host
from npu_target.models import get_model
from npu_target.models.mobilenet import (
    MOBILENET_V2,
    MobileNetV2Config,
    build_mobilenet_v2,
    parameter_shapes,
)
from npu_target.models.parameters import seeded_parameters

SMALL = MobileNetV2Config(
    image_size=24, stem_channels=4, stages=((1, 4, 1, 1), (6, 6, 2, 2)), features=10, classes=7
)


def test_has_the_parameters_of_torchvision():
    shapes = parameter_shapes(MOBILENET_V2)
    trained = {k: v for k, v in shapes.items() if "running" not in k}
    assert sum(int(np.prod(shape)) for shape in trained.values()) == 3_504_872
    assert shapes["features.1.conv.0.0.weight"] == (32, 1, 3, 3)
    assert shapes["features.2.conv.0.0.weight"] == (96, 16, 1, 1)
    assert shapes["features.17.conv.2.weight"] == (320, 960, 1, 1)
    assert shapes["features.18.0.weight"] == (1280, 320, 1, 1)


def convolve(x, weight, stride):
    """NHWC image, OIHW weight with all or one of the input channels, straight from the
    definition."""
    kernel, grouped = weight.shape[2], weight.shape[1] == 1
    pad = kernel // 2
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    rows, cols = ((extent - kernel) // stride + 1 for extent in x.shape[1:3])
    out = np.zeros((x.shape[0], rows, cols, weight.shape[0]))
    for r in range(rows):
        for c in range(cols):
            window = x[:, r * stride : r * stride + kernel, c * stride : c * stride + kernel]
            if grouped:
                out[:, r, c] = np.einsum("nhwo,ohw->no", window, weight[:, 0])
            else:
                out[:, r, c] = np.einsum("nhwi,oihw->no", window, weight)
    return out


def test_computes_the_network():
    p = seeded_parameters(parameter_shapes(SMALL), 1, SMALL)
    x = np.random.default_rng(0).normal(size=SMALL.input_shape).astype("float32") * 4

    def conv_bn(x, conv, norm, stride, relu6):
        y = convolve(x, p[f"{conv}.weight"].astype("float64"), stride)
        y = (y - p[f"{norm}.running_mean"]) / np.sqrt(p[f"{norm}.running_var"] + 1e-5)
        y = y * p[f"{norm}.weight"] + p[f"{norm}.bias"]
        return np.clip(y, 0, 6) if relu6 else y

    y = conv_bn(x, "features.0.0", "features.0.1", 2, True)
    assert y.max() == 6  # the cut is seen
    y = conv_bn(y, "features.1.conv.0.0", "features.1.conv.0.1", 1, True)
    y = conv_bn(y, "features.1.conv.1", "features.1.conv.2", 1, False)
    y = y + conv_bn_input(x, conv_bn)
    for number, stride in ((2, 2), (3, 1)):
        at = f"features.{number}.conv"
        z = conv_bn(y, f"{at}.0.0", f"{at}.0.1", 1, True)
        z = conv_bn(z, f"{at}.1.0", f"{at}.1.1", stride, True)
        z = conv_bn(z, f"{at}.2", f"{at}.3", 1, False)
        y = z if stride == 2 else y + z
    y = conv_bn(y, "features.4.0", "features.4.1", 1, True)
    wanted = y.mean((1, 2)) @ p["classifier.1.weight"].T + p["classifier.1.bias"]
    (found,) = run_host(build_host(build_mobilenet_v2(SMALL, p)), x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def conv_bn_input(x, conv_bn):
    """What the first block adds: its input, whose channels are as many as its output's."""
    return conv_bn(x, "features.0.0", "features.0.1", 2, True)


@pytest.mark.slow
def test_seeded_network_keeps_its_activations_in_size():
    model = get_model("mobilenet_v2", seed=5)
    (logits,) = run_host(build_host(model.mod), model.calibration_inputs(1)[0])
    assert logits.shape == (1, 1000)
    assert 0.1 < logits.std() < 10
