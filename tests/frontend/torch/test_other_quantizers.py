"""Networks quantized in PyTorch by others' quantizers: with zero points, per channel, biases in
float."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchao")

from torch_networks import SMALL_NETWORKS, seeded  # noqa: E402
from torch_quantization import differing_elements, quantized_file  # noqa: E402

from npu_target.frontend import load  # noqa: E402
from npu_target.integer import Requantize, operation_of  # noqa: E402
from npu_target.relax_graph import Graph  # noqa: E402

# Biases are rounded to steps of the sums, so that a sum next to a tie may round otherwise.
MOST_DIFFERING = 1e-3


def xnnpack(is_per_channel):
    module = pytest.importorskip("torchao.testing.pt2e._xnnpack_quantizer")
    config = module.get_symmetric_quantization_config(is_per_channel=is_per_channel)
    return module.XNNPACKQuantizer().set_global(config)


def x86():
    module = pytest.importorskip("torchao.quantization.pt2e.quantizer.x86_inductor_quantizer")
    return module.X86InductorQuantizer().set_global(
        module.get_default_x86_inductor_quantization_config()
    )


def check(name, quantizer, folder):
    """Layer by layer at most a step off, nearly nowhere. Returns the layers and the network."""
    make, shape = SMALL_NETWORKS[name]
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(shape, generator=generator) for _ in range(3)]
    file = quantized_file(folder, seeded(make), inputs, quantizer)
    net = load(file)
    assert net.integer
    layers = differing_elements(file, net, inputs[1])
    elements, differing, _ = (sum(column) for column in zip(*layers.values(), strict=True))
    assert max(most for _, _, most in layers.values()) <= 1
    assert differing <= MOST_DIFFERING * elements
    return layers, net


def requantized(net):
    graph = Graph(net.mod)
    found = (operation_of(net.mod, graph.value[var]) for var in graph.order)
    return [named[0] for named in found if named and isinstance(named[0], Requantize)]


@pytest.mark.parametrize("is_per_channel", [True, False])
@pytest.mark.parametrize("name", ["resnet", "mobilenet"])
def test_xnnpack(name, is_per_channel, tmp_path):
    layers, net = check(name, xnnpack(is_per_channel), tmp_path)
    assert len(layers) >= 10
    operations = requantized(net)
    assert len(operations) >= 6
    assert any(operation.zero_point for operation in operations)
    assert any(len(operation.scale) > 1 for operation in operations) == is_per_channel
    assert any("bias" in remark for remark in net.remarks)


def test_unsigned_activations(tmp_path):
    layers, net = check("mobilenet", x86(), tmp_path)
    assert len(layers) >= 5
    assert any(len(operation.scale) > 1 for operation in requantized(net))


@pytest.mark.parametrize("name", ["vit", "bert", "llama"])
def test_transformers_per_channel(name, tmp_path):
    layers, _ = check(name, xnnpack(True), tmp_path)
    assert len(layers) >= 8
