"""The whole integer network, layer by layer, against NumPy: on the host and partitioned."""

from dataclasses import replace

import numpy as np
import pytest
from quantization_accuracy import compare
from reference import integer_resnet
from region_outputs import run_regions
from shared_models import shared_model

from npu_target.devices.gemmini import GemminiConfig
from npu_target.host import build_host, run_host
from npu_target.inputs import read_inputs
from npu_target.models import get_model
from npu_target.models.image import synthetic_images
from npu_target.models.parameters import seeded_parameters
from npu_target.models.resnet import (
    RESNET50,
    ResNetConfig,
    build_resnet,
    parameter_shapes,
)
from npu_target.partition import partition
from npu_target.quantize import quantize
from npu_target.tuning.models import inputs_of

SMALL = ResNetConfig(image_size=37, stem_channels=12, blocks_per_stage=(1, 2), classes=10)
BOTTLENECKS = replace(SMALL, stem_channels=8, bottleneck=True)


def assert_layers_match(partitioned, quantized, image, blocks_per_stage):
    wanted = integer_resnet.run(image, quantized.parameters, blocks_per_stage)
    found, logits = run_regions(partitioned, image)
    assert len(found) == len(wanted) - 2  # all but the image and the logits
    for name, result in found.items():
        layer = wanted[name]
        np.testing.assert_array_equal(result.reshape(layer.shape), layer, err_msg=name)
        assert len(np.unique(layer)) > 4, f"{name} has too few values to tell anything"
    np.testing.assert_array_equal(logits, wanted["logits"])


@pytest.mark.long
@pytest.mark.parametrize("config", [SMALL, BOTTLENECKS], ids=["basic", "bottleneck"])
def test_a_small_network_matches_layer_by_layer(config):
    parameters = seeded_parameters(parameter_shapes(config), 0, config)
    mod = build_resnet(config, parameters)
    images = synthetic_images(3, config.image_size, config.image_size, seed=1)
    quantized = quantize(mod, images[:2])
    (logits,) = run_host(build_host(quantized.mod), images[2])
    wanted = integer_resnet.run(images[2], quantized.parameters, config.blocks_per_stage)
    np.testing.assert_array_equal(logits, wanted["logits"])
    partitioned = partition(quantized.mod, GemminiConfig())
    assert_layers_match(partitioned, quantized, images[2], config.blocks_per_stage)


@pytest.mark.slow
def test_resnet50_matches_layer_by_layer():
    model = get_model("resnet50")
    quantized = quantize(model.mod, model.calibration_inputs(1))
    (image,) = model.calibration_inputs(1, seed=3)
    partitioned = partition(quantized.mod, GemminiConfig())
    assert_layers_match(partitioned, quantized, image, RESNET50.blocks_per_stage)


@pytest.fixture(scope="module")
def resnet18():
    model = get_model("resnet18")
    return model, quantize(model.mod, model.calibration_inputs(2))


@pytest.fixture(scope="module")
def integer_resnet18(resnet18):
    return build_host(resnet18[1].mod)


@pytest.mark.slow
def test_resnet18_on_a_photo_matches_to_the_last_bit(resnet18, integer_resnet18):
    model, quantized = resnet18
    image = read_inputs(shared_model("cat.bmp"), inputs_of(model))[0][0]
    (logits,) = run_host(integer_resnet18, image)
    wanted = integer_resnet.run(image, quantized.parameters)
    assert len(np.unique(wanted["fc"])) > 20
    np.testing.assert_array_equal(logits, wanted["logits"])


@pytest.mark.slow
def test_resnet18_on_noise_matches_to_the_last_bit(resnet18, integer_resnet18):
    model, quantized = resnet18
    image = np.random.default_rng(9).normal(size=model.input_shape).astype("float32") * 2
    (logits,) = run_host(integer_resnet18, image)
    np.testing.assert_array_equal(logits, integer_resnet.run(image, quantized.parameters)["logits"])


@pytest.mark.slow
def test_partitioned_resnet18_matches_layer_by_layer(resnet18):
    model, quantized = resnet18
    partitioned = partition(quantized.mod, GemminiConfig())
    assert {region.op for region in partitioned.regions} == {
        "conv2d",
        "add",
        "max_pool2d",
        "global_avg_pool",
        "matmul",
    }
    host = [decision.op for decision in partitioned.decisions if decision.where == "host"]
    quantizing, dequantizing = ["multiply", "round", "clip", "astype"], ["astype", "multiply"]
    assert host == [*quantizing, "reshape", *dequantizing]
    (image,) = model.calibration_inputs(1, seed=3)
    assert_layers_match(partitioned, quantized, image, (2, 2, 2, 2))


@pytest.mark.slow
def test_quantizing_resnet18_costs_little_accuracy(resnet18):
    model, quantized = resnet18
    accuracy = compare(model.mod, quantized.mod, model.calibration_inputs(2, seed=11))
    assert accuracy.sqnr_db > 15  # random logits lie close together, a trained network's do not
