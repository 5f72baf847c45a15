"""What the PT2E quantizer marks, and what comes out of PyTorch's own flow."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchao")

from torch import nn  # noqa: E402
from torch_networks import Parts, Residual, seeded  # noqa: E402
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # noqa: E402

from npu_target.torch_quantizer import NpuQuantizer, fit_biases  # noqa: E402

QUANTIZE = torch.ops.quantized_decomposed.quantize_per_tensor.default
DEQUANTIZE = torch.ops.quantized_decomposed.dequantize_per_tensor.default


def quantized(network, x):
    prepared = prepare_pt2e(torch.export.export(network, (x,)).module(), NpuQuantizer())
    prepared(x)
    return convert_pt2e(prepared)


def numbers(node):
    """Scale and the rest of what a node is dequantized by."""
    assert node.target is DEQUANTIZE, node
    return node.args[1], node.args[2:]


def named(model, *names):
    return [
        node for node in model.graph.nodes if getattr(node.target, "__name__", "").startswith(names)
    ]


@pytest.fixture(scope="module")
def residual():
    return quantized(seeded(lambda: Residual(4, 8, 2)), torch.randn(1, 4, 8, 8))


def test_convolutions_are_symmetric_with_an_int32_bias_of_their_scale(residual):
    convolutions = named(residual, "conv2d")
    assert len(convolutions) == 3
    for node in convolutions:
        (value, value_rest), (weight, weight_rest), (bias, bias_rest) = map(numbers, node.args[:3])
        assert value_rest == (0, -128, 127, torch.int8)
        assert weight_rest == (0, -127, 127, torch.int8)
        assert (bias_rest[0], bias_rest[-1]) == (0, torch.int32)
        assert bias == float(torch.tensor(value) * torch.tensor(weight))


def test_operands_of_an_addition_have_one_scale(residual):
    (node,) = named(residual, "add.")
    first, second = map(numbers, node.args)
    assert first == second


def test_a_layer_is_quantized_behind_its_relu(residual):
    for node in named(residual, "relu"):
        assert {user.target for user in node.users} == {QUANTIZE}
    for node in named(residual, "conv2d"):
        (user,) = node.users
        assert user.target is QUANTIZE or user.target.__name__.startswith("relu")


def test_what_moves_values_keeps_their_scale():
    class Moves(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(2, 4, 3), nn.Conv2d(2, 4, 3)

        def forward(self, x):
            y = torch.cat([self.first(x), torch.max_pool2d(self.second(x), 3, 1, 1)], 1)
            return y.permute(0, 2, 3, 1).flatten(1)

    model = quantized(Moves(), torch.randn(1, 2, 8, 8))
    # All behind the convolutions have one scale.
    (last,) = named(model, "flatten")
    scales = {numbers(node)[0] for cat in named(model, "cat") for node in cat.args[0]}
    scales.add(numbers(last.args[0])[0])
    scales.update(user.args[1] for user in last.users)
    assert len(scales) == 1


def test_parts_and_bounds_of_values_keep_their_scale():
    model = quantized(seeded(Parts), torch.randn(1, 2, 8, 8))
    for name in ("upsample_nearest2d", "slice", "chunk", "split", "split_with_sizes", "clamp"):
        for node in named(model, name):
            assert numbers(node.args[0])
    assert len(named(model, "clamp")) == len(named(model, "slice")) == 1
    for node in named(model, "getitem"):
        assert {user.target for user in node.users} == {QUANTIZE}


def test_what_has_no_integer_form_stays_float():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            return torch.softmax(self.norm(self.linear(x) + 1), -1)

    model = quantized(Mixed(), torch.randn(2, 6))
    for node in named(model, "add", "layer_norm", "softmax"):
        assert all(user.target is not QUANTIZE for user in node.users)


def test_float_biases_are_rounded_to_steps():
    class Folded(nn.Module):
        """As a batch norm leaves it after training: all quantized but the bias."""

        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.randint(-127, 128, (3, 2, 1, 1)).to(torch.int8))
            self.bias = nn.Parameter(torch.tensor([0.1234567, -1.0, 0.0]))

        def forward(self, x):
            x = DEQUANTIZE(
                QUANTIZE(x, 0.25, 0, -128, 127, torch.int8), 0.25, 0, -128, 127, torch.int8
            )
            weight = DEQUANTIZE(self.weight, 0.125, 0, -127, 127, torch.int8)
            return torch.conv2d(x, weight, self.bias)

    model = torch.export.export(Folded(), (torch.randn(1, 2, 4, 4),)).module()
    assert fit_biases(model) is model
    step = 0.25 * 0.125
    (bias,) = (value for name, value in model.named_parameters() if name == "bias")
    torch.testing.assert_close(bias.detach(), torch.tensor([4 * step, -32 * step, 0.0]))
