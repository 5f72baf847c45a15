"""Networks quantized in PyTorch: the integers that PyTorch has, in numbers that the device has."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchao")

from torch_networks import (  # noqa: E402
    SMALL_NETWORKS,
    BertLayer,
    Lines,
    LlamaBlock,
    MobileNetV2,
    Parts,
    ResNet,
    saved,
    seeded,
)
from torch_quantization import (  # noqa: E402
    differing_elements,
    quantized_file,
    run_file,
    trained_file,
)

from npu_target.frontend import FrontendError, load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402
from npu_target.integer import Requantize, operation_of  # noqa: E402
from npu_target.integer.linear_add import LinearAdd  # noqa: E402
from npu_target.models.mobilenet import STAGES  # noqa: E402
from npu_target.relax_graph import Graph, dtype_of, op_name  # noqa: E402

# PyTorch adds products in float32, in an order of its own: a sum next to a tie may round otherwise.
MOST_DIFFERING = 1e-5


def images(shape, count=4, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for _ in range(count)]


@pytest.fixture(scope="module", params=["mobilenet", "lenet", "trained"])
def quantized(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("quantized")
    name = "resnet" if request.param == "trained" else request.param
    make, shape = SMALL_NETWORKS[name]
    inputs = images(shape)
    quantize = trained_file if request.param == "trained" else quantized_file
    file = quantize(folder, seeded(make), inputs)
    return file, load(file), inputs


def test_every_layer_has_the_integers_of_pytorch(quantized):
    file, net, inputs = quantized
    assert net.integer
    layers = differing_elements(file, net, inputs[1])
    assert len(layers) >= 6
    assert {name: differ for name, (_, differ, _) in layers.items() if differ} == {}


def test_results_are_those_of_pytorch(quantized):
    file, net, inputs = quantized
    executable = build_host(net.mod)
    for x in inputs[:2]:
        (found,) = run_host(executable, x.numpy())
        np.testing.assert_array_equal(found, run_file(file, x))


def test_the_device_can_do_every_layer(quantized):
    """int8 alone between the ends; every requantization by one float32 scale, without a zero
    point, within saturation and ReLU."""
    _, net, _ = quantized
    graph = Graph(net.mod)
    operations = [operation_of(net.mod, graph.value[var]) for var in graph.order]
    found = [operation for operation, _ in filter(None, operations)]
    assert len(found) >= 5
    for operation in found:
        if isinstance(operation, LinearAdd):
            # With operands of one scale, a sum of integers times one number.
            assert operation.scales[0] == operation.scales[1]
            assert operation.zero_points == (0, 0, 0)
            continue
        assert isinstance(operation, Requantize)
        assert (operation.rule, operation.zero_point, len(operation.scale)) == ("float32", 0, 1)
        assert operation.low in (-128, 0)
        # ReLU6 may end below 127.
        assert 0 < operation.high <= 127
    floats = [var for var in graph.order if dtype_of(var) == "float32"]
    names = {op_name(graph.value[var]) for var in floats}
    assert names <= {f"relax.{n}" for n in ("multiply", "round", "clip", "dequantize")}
    transposes = [v for v in graph.order if op_name(graph.value[v]) == "relax.permute_dims"]
    assert len(transposes) <= 1


def test_says_what_integers_are_worth(quantized):
    _, net, _ = quantized
    names = {var.name for var in Graph(net.mod).order}
    assert set(net.quantizations) <= names
    assert "conv1" not in names or net.quantizations["conv1"].zero_point == (0,)


@pytest.mark.parametrize(("make", "shape"), [(Parts, (1, 2, 8, 8)), (Lines, (1, 3, 12))])
def test_parts_and_lines_are_integers_to_the_end(make, shape, tmp_path):
    inputs = images(shape)
    file = quantized_file(tmp_path, seeded(make), inputs)
    net = load(file)
    (found,) = run_host(build_host(net.mod), inputs[1].numpy())
    np.testing.assert_array_equal(found, run_file(file, inputs[1]))
    floats = [var for var in Graph(net.mod).order if dtype_of(var) == "float32"]
    names = {op_name(Graph(net.mod).value[var]) for var in floats}
    assert names <= {f"relax.{n}" for n in ("multiply", "round", "clip", "dequantize")}


@pytest.mark.parametrize("make", [BertLayer, LlamaBlock])
def test_products_of_transformers_are_integers(make, tmp_path):
    shape = dict(SMALL_NETWORKS.values())[make]
    inputs = images(shape)
    file = quantized_file(tmp_path, seeded(make), inputs)
    net = load(file)
    graph = Graph(net.mod)
    products = [var for var in graph.order if op_name(graph.value[var]) == "relax.matmul"]
    assert len(products) >= 8
    # Attention in one operator is not taken apart by torchao; its two products stay float.
    float_products = [var.name for var in products if dtype_of(var) != "int32"]
    assert all("attention" in name for name in float_products), float_products
    (found,) = run_host(build_host(net.mod), inputs[1].numpy())
    wanted = run_file(file, inputs[1])
    noise = np.sum((found - wanted) ** 2) / np.sum(wanted**2)
    assert 10 * np.log10(noise + 1e-20) < -40


class Rescaled(torch.nn.Module):
    """A value quantized by numbers of its own, back to floats."""

    def __init__(self, scale=0.1, zero_point=3, low=-128, high=127, dtype=torch.int8):
        super().__init__()
        # Observers give scales in float32.
        self.numbers = (float(np.float32(scale)), zero_point, low, high, dtype)

    def forward(self, x):
        ops = torch.ops.quantized_decomposed
        stored = ops.quantize_per_tensor.default(x, *self.numbers)
        return ops.dequantize_per_tensor.default(stored, *self.numbers)


@pytest.mark.parametrize(
    "numbers",
    [
        (0.1, 0, -128, 127, torch.int8),
        (0.013, -7, -128, 127, torch.int8),
        (0.3, 5, -100, 90, torch.int8),
        (0.021, 131, 0, 255, torch.uint8),
    ],
)
def test_an_input_is_rounded_as_pytorch_does(numbers, tmp_path):
    import torch.ao.quantization.fx._decomposed

    module = Rescaled(*numbers)
    # Halves of steps, and their neighbours.
    steps = torch.arange(-300, 300, dtype=torch.float32) / 2
    ties = steps * numbers[0]
    x = torch.cat([ties, torch.nextafter(ties, ties + 1), torch.nextafter(ties, ties - 1)])
    file = saved(tmp_path, module, x)
    (found,) = run_host(build_host(load(file).mod), x.numpy())
    np.testing.assert_array_equal(found, module(x).numpy())


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.0, 0, -128, 127, torch.int8), "scale that is not positive"),
        ((float("nan"), 0, -128, 127, torch.int8), "scale that is not positive"),
        ((0.1, 300, -128, 127, torch.int8), "zero point out of int8's range"),
    ],
)
def test_wrong_numbers_are_refused(numbers, text, tmp_path):
    import torch.ao.quantization.fx._decomposed

    file = saved(tmp_path, Rescaled(*numbers), torch.zeros(4))
    with pytest.raises(FrontendError, match=text):
        load(file)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: ResNet(64, (2, 2, 2, 2), 1000),
        lambda: MobileNetV2(STAGES, 32, 1280, 1000),
    ],
    ids=["resnet18", "mobilenet_v2"],
)
def test_whole_networks(make, tmp_path):
    inputs = images((1, 3, 224, 224), 2)
    file = quantized_file(tmp_path, seeded(make), inputs)
    layers = differing_elements(file, load(file), inputs[1])
    elements, differing, off = (list(numbers) for numbers in zip(*layers.values(), strict=True))
    print(f"{sum(differing)} of {sum(elements)} elements of {len(layers)} layers differ")
    assert sum(elements) > 2_000_000
    assert sum(differing) <= MOST_DIFFERING * sum(elements)
    assert max(off) <= 1
