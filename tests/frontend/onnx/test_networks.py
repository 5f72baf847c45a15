"""Whole networks from .onnx files: every quantized tensor as ONNX Runtime's integer kernels have
it, element for element."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_layers import check_layers, saved  # noqa: E402
from onnx_models import quantized, residual_net, run  # noqa: E402
from onnx_networks import mobilenet_v2, resnet18, resnet50  # noqa: E402

from npu_target.devices.gemmini import GemminiConfig  # noqa: E402
from npu_target.frontend import load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402
from npu_target.partition import partition  # noqa: E402
from npu_target.quantize import quantize  # noqa: E402
from npu_target.relax_graph import Graph, dtype_of, op_name  # noqa: E402

OPTIONS = {
    "int8": {},
    "symmetric": {"symmetric": True},
    "uint8": {"activations": "uint8"},
    "uint8 weights": {"activations": "uint8", "weights": "uint8"},
    "per channel": {"per_channel": True},
    "symmetric per channel": {"symmetric": True, "per_channel": True},
}


def names(mod):
    graph = Graph(mod)
    return [op_name(graph.value[var]) for var in graph.order]


@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("options", OPTIONS)
def test_every_layer_is_equal(form, options, tmp_path):
    model = quantized(residual_net(), tmp_path, form, **OPTIONS[options])
    image = np.random.default_rng(5).normal(size=(1, 3, 16, 16)).astype("float32")
    assert check_layers(model, tmp_path, image) >= 10


@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
def test_a_quantized_network_is_integers_with_one_transpose(form, tmp_path):
    imported = load(saved(quantized(residual_net(), tmp_path, form), tmp_path))
    graph = Graph(imported.mod)
    assert names(imported.mod).count("relax.permute_dims") == 1
    assert [dtype_of(var) for var in graph.order].count("float32") == 1  # the result
    # QOperator's nodes have names of their own.
    end, origin = ("", "block.conv1") if form == "QDQ" else ("_quant", "block.conv1_quant")
    layers = {f"{name}{end}" for name in ("block_conv1", "block_add", "fc")}
    assert layers <= set(imported.quantizations)
    assert imported.origins[f"block_conv1{end}"] == origin


def test_a_float_network_is_what_the_quantizer_takes(tmp_path):
    imported = load(saved(residual_net(batch="N"), tmp_path), {"image": (1, 3, 16, 16)})
    assert not imported.integer
    assert names(imported.mod).count("relax.permute_dims") == 1
    image = np.random.default_rng(5).normal(size=(1, 3, 16, 16)).astype("float32")
    (found,) = run_host(build_host(imported.mod), image)
    (wanted,) = run(residual_net(), image)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    made = quantize(imported.mod, [image])
    layers = {name for name in made.parameters if "weight" in made.parameters[name]}
    assert layers == {"stem", "block_conv1", "block_conv2", "expand", "depth", "fc"}
    regions = partition(made.mod, GemminiConfig()).regions
    # Six products, a pool, a sum and an average.
    assert len(regions) == 9


# ONNX Runtime's names: types of activations and weights, and what else its quantizer is asked for.
VARIANTS = {
    "S8S8 symmetric per channel": {"symmetric": True, "per_channel": True},
    "U8S8 per channel": {"activations": "uint8", "per_channel": True},
    "U8S8 7 bits": {"activations": "uint8", "per_channel": True, "reduce_range": True},
    "U8U8": {"activations": "uint8", "weights": "uint8"},
}
LARGE = [
    *((network, "QDQ", "U8S8 per channel") for network in (resnet18, mobilenet_v2)),
    (resnet18, "QOperator", "U8S8 per channel"),
    *((network, "QOperator", name) for network in (resnet50, mobilenet_v2) for name in VARIANTS),
]


@pytest.mark.slow
@pytest.mark.parametrize(("network", "form", "variant"), LARGE)
def test_every_layer_of_a_large_network_is_equal(network, form, variant, tmp_path):
    model = quantized(network(), tmp_path, form, **VARIANTS[variant])
    image = np.random.default_rng(5).normal(size=(1, 3, 224, 224)).astype("float32")
    assert check_layers(model, tmp_path, image) >= 30
