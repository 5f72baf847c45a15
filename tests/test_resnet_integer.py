"""The whole integer network, layer by layer, against NumPy: on the host and partitioned."""

import numpy as np
import pytest
from reference import integer_resnet
from shared_models import shared_model
from tvm import relax

from npu_target.config import NpuConfig
from npu_target.host import build_host, run_host
from npu_target.models import get_model
from npu_target.models.image import synthetic_images
from npu_target.models.parameters import seeded_parameters
from npu_target.models.resnet import ResNetConfig, build_resnet, parameter_shapes
from npu_target.partition import partition
from npu_target.quantize import compare, quantize
from npu_target.relax_graph import Graph, copy_binding, rebuild, replace_function

SMALL = ResNetConfig(image_size=37, stem_channels=12, blocks_per_stage=(1, 2), classes=10)


def with_every_region_as_output(partitioned):
    """The partitioned module with the result of each region, then its own result."""
    graph = Graph(partitioned.mod)
    by_name = {var.name: var for var in graph.order}
    results = [by_name[f"{region.name}_out"] for region in partitioned.regions]
    graph.output = relax.Tuple([*results, graph.output])
    mod = rebuild(graph, lambda builder, var, values: copy_binding(builder, var, values, graph))
    return replace_function(partitioned.mod, "main", mod["main"])


def assert_layers_match(partitioned, quantized, image, blocks_per_stage):
    wanted = integer_resnet.run(image, quantized.parameters, blocks_per_stage)
    (*found, logits) = run_host(build_host(with_every_region_as_output(partitioned)), image)
    assert len(found) == len(wanted) - 2  # all but the image and the logits
    for region, result in zip(partitioned.regions, found, strict=True):
        layer = wanted[region.name]
        np.testing.assert_array_equal(result.reshape(layer.shape), layer, err_msg=region.name)
        assert len(np.unique(layer)) > 4, f"{region.name} has too few values to tell anything"
    np.testing.assert_array_equal(logits, wanted["logits"])


def test_a_small_network_matches_layer_by_layer():
    parameters = seeded_parameters(parameter_shapes(SMALL), 0, SMALL)
    mod = build_resnet(SMALL, parameters)
    images = synthetic_images(3, SMALL.image_size, SMALL.image_size, seed=1)
    quantized = quantize(mod, images[:2])
    (logits,) = run_host(build_host(quantized.mod), images[2])
    wanted = integer_resnet.run(images[2], quantized.parameters, SMALL.blocks_per_stage)
    np.testing.assert_array_equal(logits, wanted["logits"])
    partitioned = partition(quantized.mod, NpuConfig())
    assert_layers_match(partitioned, quantized, images[2], SMALL.blocks_per_stage)


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
    image = model.preprocess(shared_model("cat.bmp"))
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
    partitioned = partition(quantized.mod, NpuConfig())
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
