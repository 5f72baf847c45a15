"""Quantized transposed convolutions of files, of images and of lines."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_layers import saved  # noqa: E402
from onnx_models import Maker, run  # noqa: E402

from npu_target.device import preset  # noqa: E402
from npu_target.frontend import load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402
from npu_target.partition import partition  # noqa: E402


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("per_channel", [False, True])
def test_the_integers_are_the_runtimes_and_run_on_the_device(axes, per_channel, tmp_path):
    random = np.random.default_rng(axes)
    maker = Maker()
    maker.constant(np.float32(0.05), "scale")
    maker.constant(np.int8(3), "point")

    def through_int8(value):
        integers = maker.node("QuantizeLinear", [value, "scale", "point"], f"{value}_q")
        return maker.node("DequantizeLinear", [integers, "scale", "point"], f"{value}_d")

    maker.constant(random.integers(-127, 128, (4, 6, *[4] * axes)).astype("int8"), "weights")
    steps = random.uniform(0.004, 0.01, 6 if per_channel else ()).astype("float32")
    maker.constant(np.asarray(steps), "steps")
    maker.constant(np.zeros(steps.shape, "int8"), "points")
    weights = maker.node("DequantizeLinear", ["weights", "steps", "points"], "kernel", axis=1)
    maker.constant(random.integers(-900, 900, 6).astype("int32"), "added")
    maker.constant(np.asarray(steps * np.float32(0.05)), "added_steps")
    maker.constant(np.zeros(steps.shape, "int32"), "added_points")
    bias = maker.node("DequantizeLinear", ["added", "added_steps", "added_points"], "bias", axis=0)
    inputs = [through_int8("image"), weights, bias]
    up = maker.node("ConvTranspose", inputs, "up", strides=[2] * axes, pads=[1] * (2 * axes))
    shape = (1, 4, *[7] * axes)
    model = maker.model({"image": shape}, {through_int8(up): None}, opset=17)
    image = random.normal(0, 2, shape).astype("float32")
    (wanted,) = run(model, image, optimized=False)
    loaded = load(saved(model, tmp_path))
    (found,) = run_host(build_host(loaded.mod), image)
    # The runtime adds products in float32, which is a step of 0.05 off at most, and seldom.
    apart = np.abs(found - wanted)
    assert len(np.unique(wanted)) > 20
    assert apart.max() < 0.051 and (apart > 0.001).mean() < 0.01
    (region,) = partition(loaded.mod, preset("gemmini-16x16")).regions
    assert region.operator.op == "conv2d"
