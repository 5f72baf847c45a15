"""Networks that PyTorch exported and ONNX Runtime quantized, as people do it."""

from itertools import product

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from onnx_layers import check_layers, layers_of  # noqa: E402
from onnx_models import quantized, run  # noqa: E402
from torch_networks import SMALL_NETWORKS, seeded  # noqa: E402

from npu_target.frontend import FrontendError, load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402
from npu_target.relax_graph import Graph, dtype_of, op_name  # noqa: E402

# ONNX Runtime's names: activations, weights.
TYPES = {"S8S8": ("int8", "int8"), "U8S8": ("uint8", "int8"), "U8U8": ("uint8", "uint8")}
# Each value of each option at least once.
SOME = [
    ("QDQ", "S8S8", True, False, True),
    ("QDQ", "U8S8", True, True, False),
    ("QOperator", "U8U8", False, True, False),
    ("QOperator", "S8S8", True, False, False),
]
ALL = list(product(["QDQ", "QOperator"], TYPES, [True, False], [True, False], [True, False]))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A network's model and its shape, by name; each is exported once."""
    folder = tmp_path_factory.mktemp("exported")
    models = {}

    def export(name):
        if name not in models:
            make, shape = SMALL_NETWORKS[name]
            path = folder / f"{name}.onnx"
            inputs = (torch.zeros(shape),)
            # The other exporter needs a package of its own.
            torch.onnx.export(seeded(make), inputs, path, dynamo=False, input_names=["x"])
            models[name] = onnx.load(path), shape
        return models[name]

    return export


def quantized_network(exported, name, folder, variant):
    form, types, per_channel, reduce_range, symmetric = variant
    model, shape = exported(name)
    activations, weights = TYPES[types]
    made = quantized(
        model,
        folder,
        form,
        activations=activations,
        weights=weights,
        per_channel=per_channel,
        reduce_range=reduce_range,
        symmetric=symmetric,
    )
    return made, np.random.default_rng(5).normal(size=shape).astype("float32")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("variant", SOME, ids=lambda variant: "-".join(map(str, variant)))
def test_every_layer_of_a_resnet_is_equal(variant, exported, tmp_path):
    assert check_layers(*_arguments(exported, "resnet", tmp_path, variant)) >= 10


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("variant", SOME[:1], ids=lambda variant: "-".join(map(str, variant)))
def test_every_layer_of_a_mobilenet_is_equal(variant, exported, tmp_path):
    assert check_layers(*_arguments(exported, "mobilenet", tmp_path, variant)) >= 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("variant", ALL, ids=lambda variant: "-".join(map(str, variant)))
@pytest.mark.parametrize("name", ["resnet", "mobilenet"])
def test_every_layer_is_equal_in_all_variants(name, variant, exported, tmp_path):
    assert check_layers(*_arguments(exported, name, tmp_path, variant)) >= 10


def _arguments(exported, name, folder, variant):
    model, image = quantized_network(exported, name, folder, variant)
    return model, folder, image


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("name", ["bert", "vit"])
def test_transformers(name, form, exported, tmp_path):
    """Products are integers. Softmax, GELU and layer norms are computed in floats, whose sums are
    in another order here: a value at a tie may be a step off, and what is made of it."""
    model, image = quantized_network(exported, name, tmp_path, (form, "U8U8", True, False, False))
    # Where it optimizes, ONNX Runtime makes an integer softmax of QDQ, with roundings of its own.
    pairs = layers_of(model, tmp_path, image, optimized=form == "QOperator")
    assert len(pairs) >= 20
    n_differ = 0
    for tensor, (ours, theirs) in pairs.items():
        if ours.dtype.kind == "f":
            continue
        apart = np.abs(ours.astype(int) - theirs)
        assert apart.max() <= 1, tensor
        assert (apart > 0).mean() <= 0.02, tensor
        n_differ += int((apart > 0).sum())
    # Most tensors have none at all.
    assert n_differ <= 0.002 * sum(ours.size for ours, _ in pairs.values())
    graph = Graph(load(tmp_path / "net.onnx").mod)
    products = [var for var in graph.order if op_name(graph.value[var]) == "relax.matmul"]
    assert len(products) >= 5
    assert {dtype_of(var) for var in products} == {"int32"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["bert", "vit", "resnet"])
def test_a_float_network_is_that_of_pytorch(name, exported, tmp_path):
    model, shape = exported(name)
    onnx.save(model, tmp_path / "net.onnx")
    image = np.random.default_rng(5).normal(size=shape).astype("float32")
    (found,) = run_host(build_host(load(tmp_path / "net.onnx").mod), image)
    np.testing.assert_allclose(found, run(model, image)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["bert", "resnet"])
@pytest.mark.parametrize("weights", ["QInt8", "QUInt8"])
def test_scales_of_run_time_are_refused_with_what_to_do(name, weights, exported, tmp_path):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model, _ = exported(name)
    onnx.save(model, tmp_path / "float.onnx")
    path = tmp_path / "dynamic.onnx"
    quantize_dynamic(tmp_path / "float.onnx", path, weight_type=QuantType[weights])
    with pytest.raises(FrontendError, match=r"computed at run time; quantize statically") as found:
        load(path)
    assert "MatMulInteger" in str(found.value) or "ConvInteger" in str(found.value)
