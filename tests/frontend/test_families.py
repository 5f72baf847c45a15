"""Networks of kinds that people have, from PyTorch and ONNX Runtime's and torchao's quantizers:
imported, on the host beside the framework, and on the device to the last bit."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("torchao")

from networks_on_device import run_as_decided, run_on_device  # noqa: E402
from onnx_layers import layers_of, saved  # noqa: E402
from onnx_models import quantized, run  # noqa: E402
from torch_families import FAMILIES  # noqa: E402
from torch_networks import saved as saved_program  # noqa: E402
from torch_networks import seeded  # noqa: E402
from torch_quantization import differing_elements, quantized_file  # noqa: E402

from npu_target.frontend import load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402

LEAST_DB = 30.0
# Activations, weights, and what else the quantizer is asked for.
VARIANTS = {
    "S8S8": {"per_channel": True, "symmetric": True},
    "U8S8": {"activations": "uint8", "per_channel": True, "reduce_range": True},
    "U8U8": {"activations": "uint8", "weights": "uint8"},
}
QDQ, QOPERATOR = "QDQ", "QOperator"
FLOAT, PROGRAM, PT2E = "float ONNX", "float .pt2", "PT2E"
# Where QDQ has a softmax, of which ONNX Runtime makes its own integer one when it optimizes.
WITH_SOFTMAX = {"ssd", "person_detection", "decoder"}
# Of QDQ: resizes and average pools in float, where sums at ties are rounded either way.
WITH_TIES = {"unet_bilinear", "keywords"}
# Each kind of network in each form that it has been wrong in, and every form with some networks.
QUICK = [
    ("unet_transposed", (QDQ, "U8S8")),
    ("unet_transposed", PT2E),
    ("unet_bilinear", (QOPERATOR, "U8S8")),
    ("keywords", PROGRAM),
    ("separable_keywords", (QOPERATOR, "U8U8")),
    ("ssd", PT2E),
    ("yolo", (QDQ, "S8S8")),
    ("speech", (QDQ, "U8S8")),
    ("mixer", (QOPERATOR, "U8S8")),
    ("mobilenet_v3", (QDQ, "U8S8")),
    ("efficientnet", PT2E),
    ("convnext", FLOAT),
    ("decoder", PROGRAM),
]
SLOW = [
    ("unet_transposed", FLOAT),
    ("unet_transposed", (QOPERATOR, "S8S8")),
    ("unet_nearest", (QOPERATOR, "U8U8")),
    ("unet_bilinear", (QDQ, "U8S8")),
    ("keywords", (QDQ, "U8S8")),
    ("keywords", (QOPERATOR, "U8U8")),
    ("separable_keywords", PT2E),
    ("ssd", (QDQ, "U8S8")),
    ("yolo", PT2E),
    ("person_detection", (QOPERATOR, "U8U8")),
    ("mixer", PT2E),
    ("mobilenet_v3", (QOPERATOR, "U8U8")),
    ("efficientnet", FLOAT),
    ("convnext", (QDQ, "S8S8")),
    ("decoder", (QDQ, "U8S8")),
]
CASES = [
    pytest.param(
        name, form, marks=marks, id=f"{name}-{form if isinstance(form, str) else '-'.join(form)}"
    )
    for cases, marks in ((QUICK, ()), (SLOW, pytest.mark.slow))
    for name, form in cases
]


def samples(name, count=3):
    """Inputs of a network, tensors."""
    generator = torch.Generator().manual_seed(1)
    shapes = FAMILIES[name][1]
    return [[torch.randn(shape, generator=generator) for shape in shapes] for _ in range(count)]


def arrays(inputs):
    return [tensor.numpy() for tensor in inputs]


def exported(name, folder):
    """The network as an ONNX model."""
    make, shapes = FAMILIES[name]
    names = [f"x{index}" for index in range(len(shapes))]
    zeros = tuple(map(torch.zeros, shapes))
    # The other exporter needs a package of its own.
    torch.onnx.export(
        seeded(make), zeros, folder / "exported.onnx", dynamo=False, input_names=names
    )
    return onnx.load(folder / "exported.onnx")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_network(name, form, tmp_path):
    if form == FLOAT:
        check_float_model(name, tmp_path)
    elif form == PROGRAM:
        check_float_program(name, tmp_path)
    elif form == PT2E:
        check_pt2e(name, tmp_path)
    else:
        check_quantized_model(name, *form, tmp_path)


def check_float_model(name, folder):
    model = exported(name, folder)
    inputs = [arrays(sample) for sample in samples(name)]
    check_float(load(saved(model, folder)).mod, inputs, run(model, *inputs[0]))


def check_float_program(name, folder):
    network, inputs = seeded(FAMILIES[name][0]), samples(name)
    wanted = network(*inputs[0])
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    mod = load(saved_program(folder, network, *inputs[0])).mod
    check_float(mod, [arrays(sample) for sample in inputs], [w.detach().numpy() for w in wanted])


def check_float(mod, inputs, wanted):
    """As the framework computes it; quantized here, on the device as on the host."""
    found = run_host(build_host(mod), *inputs[0])
    for left, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)
    ran = run_on_device(mod, inputs)
    assert ran.decibels > LEAST_DB
    assert "nn.batch_norm" not in ran.on_host
    assert "nn.relu" not in ran.on_host


def check_pt2e(name, folder):
    make, _ = FAMILIES[name]
    inputs = samples(name)
    file = quantized_file(folder, seeded(make), [tuple(sample) for sample in inputs])
    imported = load(file)
    assert imported.integer
    layers = differing_elements(file, imported, *inputs[1])
    assert {layer: differ for layer, (_, differ, _) in layers.items() if differ} == {}
    given = arrays(inputs[1])
    found = run_host(build_host(imported.mod), *given)
    wanted = torch.export.load(file).module()(*inputs[1])
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for left, right in zip(found, wanted, strict=True):
        # Equal integers; a function in float at the end is the platform's.
        np.testing.assert_allclose(left, right.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert run_as_decided(imported.mod, given, found).host_products == []


def check_quantized_model(name, form, types, folder):
    model = quantized(exported(name, folder), folder, form, **VARIANTS[types])
    given = arrays(samples(name)[1])
    has_ties = form == QDQ and name in WITH_TIES
    # Where it optimizes, ONNX Runtime quantizes weights that a file has in float.
    as_written = name == "unet_transposed" or (form == QDQ and name in WITH_SOFTMAX)
    pairs = layers_of(model, folder, *given, optimized=not as_written)
    assert len(pairs) >= 6
    compare(pairs, has_ties)
    imported = load(saved(model, folder))
    found = run_host(build_host(imported.mod), *given)
    ran = run_as_decided(imported.mod, given, found)
    # Whose weights the quantizer leaves in float.
    float_products = ["ups_0_ConvTranspose", "ups_1_ConvTranspose"]
    is_left = (name, form) == ("unet_transposed", QOPERATOR)
    assert ran.host_products == (float_products if is_left else [])


def compare(pairs, has_ties):
    """Equal; or, behind ties, at most two steps off in few places."""
    integers = {name: pair for name, pair in pairs.items() if pair[0].dtype.kind != "f"}
    if not has_ties:
        for name, (ours, theirs) in pairs.items():
            if name in integers:
                np.testing.assert_array_equal(ours, theirs, err_msg=name)
            else:
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6, err_msg=name)
        return
    apart = [np.abs(ours.astype(int) - theirs) for ours, theirs in integers.values()]
    assert max(each.max() for each in apart) <= 2
    assert sum((each > 0).sum() for each in apart) <= 0.02 * sum(each.size for each in apart)
