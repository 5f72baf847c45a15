"""Float networks from .pt2 files: equal to PyTorch, channels last, every product on the device."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from quantization_accuracy import compare  # noqa: E402
from torch_networks import SMALL_NETWORKS, saved, seeded  # noqa: E402

from npu_target.devices.gemmini import GemminiConfig  # noqa: E402
from npu_target.frontend import FrontendError, load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402
from npu_target.partition import partition  # noqa: E402
from npu_target.quantize import quantize  # noqa: E402
from npu_target.relax_graph import Graph, op_name  # noqa: E402

LEAST_SQNR_DB = 20.0
_PRODUCTS = ("relax.nn.conv2d", "relax.matmul")
# Convolutions and matrix products of each network; an average pool with a window is one as well.
PRODUCTS = {"resnet": 7, "mobilenet": 11, "lenet": 5, "vit": 8, "bert": 8, "llama": 9}


@pytest.fixture(scope="module", params=SMALL_NETWORKS)
def imported(request, tmp_path_factory):
    make, shape = SMALL_NETWORKS[request.param]
    network = seeded(make)
    x = torch.randn(shape)
    file = saved(tmp_path_factory.mktemp("net"), network, x, name=request.param)
    return load(file), x.numpy(), network(x).detach().numpy()


def test_equals_pytorch(imported):
    net, x, wanted = imported
    (found,) = run_host(build_host(net.mod), x)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_says_what_it_is(imported):
    net, x, wanted = imported
    assert net.name in SMALL_NETWORKS
    assert not net.integer
    (given,), (result,) = net.inputs, net.outputs
    assert (given.name, given.shape, given.dtype) == ("x", x.shape, "float32")
    assert (result.shape, result.dtype) == (wanted.shape, "float32")
    graph = Graph(net.mod)
    assert set(net.origins) <= {var.name for var in graph.order}
    products = [var.name for var in graph.order if op_name(graph.value[var]) in _PRODUCTS]
    assert all(name in net.origins for name in products)


def test_images_have_no_transposes_inside(imported):
    net, x, _ = imported
    if x.ndim == 4 and net.name != "vit":
        graph = Graph(net.mod)
        transposes = [v for v in graph.order if op_name(graph.value[v]) == "relax.permute_dims"]
        assert len(transposes) <= 1


def test_every_product_is_on_the_device(imported):
    net, x, _ = imported
    random = np.random.default_rng(1)
    inputs = [x, *(random.normal(size=x.shape).astype("float32") for _ in range(3))]
    quantized = quantize(net.mod, inputs)
    partitioned = partition(quantized.mod, GemminiConfig())
    on_device = [r for r in partitioned.regions if r.op in ("conv2d", "depthwise_conv2d", "matmul")]
    assert len(on_device) == PRODUCTS[net.name]
    assert compare(net.mod, quantized.mod, inputs).sqnr_db > LEAST_SQNR_DB


def test_layers_have_the_names_of_modules(tmp_path):
    make, shape = SMALL_NETWORKS["resnet"]
    net = load(saved(tmp_path, seeded(make), torch.randn(shape)))
    names = {var.name for var in Graph(net.mod).order}
    assert {"conv1", "blocks_0_conv2", "blocks_1_downsample_0", "fc"} <= names
    assert net.origins["blocks_0_conv2"] == "blocks.0.conv2 (convolution_2)"


def test_several_inputs_and_outputs(tmp_path):
    class Net(torch.nn.Module):
        def forward(self, image, more, times=None):
            total = image + more["first"] * more["second"]
            return {"total": total * times, "tokens": more["tokens"] + 1}

    arguments = (
        torch.randn(2, 4),
        {"first": torch.randn(2, 4), "second": torch.randn(4), "tokens": torch.arange(3)},
    )
    times = torch.randn(4)
    net = Net()
    imported = load(saved(tmp_path, net, *arguments, kwargs={"times": times}))
    assert [given.name for given in imported.inputs] == [
        "image",
        "more_first",
        "more_second",
        "more_tokens",
        "times",
    ]
    assert [given.dtype for given in imported.inputs][3] == "int64"
    values = [arguments[0], *arguments[1].values(), times]
    found = run_host(build_host(imported.mod), *(value.numpy() for value in values))
    for result, wanted in zip(found, net(*arguments, times=times).values(), strict=True):
        np.testing.assert_allclose(result, wanted.numpy(), rtol=1e-6)


def test_without_pytorch(tmp_path, monkeypatch):
    file = tmp_path / "net.pt2"
    file.write_bytes(b"")
    monkeypatch.setattr("npu_target.frontend.torch.reader.find_spec", lambda name: None)
    with pytest.raises(FrontendError, match=r"pip install 'npu_target\[torch\]'"):
        load(file)
