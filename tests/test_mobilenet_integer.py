"""MobileNetV2 in int8, layer by layer, against NumPy: on the host, partitioned, on the device."""

import numpy as np
import pytest
from reference import integer_mobilenet
from region_outputs import run_regions

from npu_target.build import compile_network
from npu_target.devices.gemmini import GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.models import get_model
from npu_target.models.image import synthetic_images
from npu_target.models.mobilenet import (
    MOBILENET_V2,
    MobileNetV2Config,
    build_mobilenet_v2,
    parameter_shapes,
)
from npu_target.models.parameters import seeded_parameters
from npu_target.partition import partition
from npu_target.quantize import quantize
from npu_target.tuning.choose import Chooser

CONFIG = GemminiConfig()
SMALL = MobileNetV2Config(
    image_size=33,
    stem_channels=8,
    stages=((1, 8, 1, 1), (6, 12, 2, 2), (6, 12, 1, 1)),
    features=40,
    classes=10,
)


def assert_layers_match(partitioned, wanted, image):
    found, logits = run_regions(partitioned, image)
    assert len(found) == len(wanted) - 2  # all but the image and the logits
    for name, result in found.items():
        layer = wanted[name]
        np.testing.assert_array_equal(result.reshape(layer.shape), layer, err_msg=name)
        assert len(np.unique(layer)) > 4, f"{name} has too few values to tell anything"
    np.testing.assert_array_equal(logits, wanted["logits"])


@pytest.fixture(scope="module")
def small():
    parameters = seeded_parameters(parameter_shapes(SMALL), 0, SMALL)
    images = synthetic_images(3, SMALL.image_size, SMALL.image_size, seed=1)
    quantized = quantize(build_mobilenet_v2(SMALL, parameters), images[:2])
    return (
        quantized,
        images[2],
        integer_mobilenet.run(images[2], quantized.parameters, SMALL.stages),
    )


def test_a_small_network_matches_layer_by_layer(small):
    quantized, image, wanted = small
    (logits,) = run_host(build_host(quantized.mod), image)
    np.testing.assert_array_equal(logits, wanted["logits"])
    partitioned = partition(quantized.mod, CONFIG)
    assert {region.op for region in partitioned.regions} == {
        "conv2d",
        "depthwise_conv2d",
        "add",
        "global_avg_pool",
        "matmul",
    }
    assert not any(r.operator.relu for r in partitioned.regions if r.op == "add")
    assert all(r.operator.relu for r in partitioned.regions if r.op == "depthwise_conv2d")
    assert_layers_match(partitioned, wanted, image)


@pytest.mark.long
def test_a_small_network_on_the_device(small):
    quantized, image, wanted = small
    partitioned = partition(quantized.mod, CONFIG, Chooser(CONFIG, None).device_function)
    (logits,) = run_host(compile_network(partitioned.mod), image)
    np.testing.assert_array_equal(logits, wanted["logits"])


@pytest.mark.slow
def test_the_whole_network_matches_layer_by_layer():
    model = get_model("mobilenet_v2")
    quantized = quantize(model.mod, model.calibration_inputs(2))
    (image,) = model.calibration_inputs(1, seed=3)
    wanted = integer_mobilenet.run(image, quantized.parameters, MOBILENET_V2.stages)
    partitioned = partition(quantized.mod, CONFIG)
    host = [decision.op for decision in partitioned.decisions if decision.where == "host"]
    quantizing, dequantizing = ["multiply", "round", "clip", "astype"], ["astype", "multiply"]
    assert host == [*quantizing, "reshape", *dequantizing]
    assert_layers_match(partitioned, wanted, image)
