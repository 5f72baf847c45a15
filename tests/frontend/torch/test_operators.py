"""Operators of PyTorch one by one: what is imported computes what PyTorch does."""

from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch_networks import saved  # noqa: E402

from npu_target.frontend import load  # noqa: E402
from npu_target.host import build_host, run_host  # noqa: E402

IMAGE, ROWS, HEADS = (2, 4, 7, 9), (3, 5, 8), (2, 4, 6, 8)


class Calls(torch.nn.Module):
    """Several operators on one input, each a result: one build for all."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, x):
        return tuple(function(x) for function in self.functions)


@cache
def weight(*shape, seed=0):
    """Drawn at the first call; an exported program has it as a constant."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)) / 2


def attention(**options):
    def call(x):
        return F.scaled_dot_product_attention(x, x.flip(2), x * 0.5, **options)

    return call


def masked(mask):
    return lambda x: attention(attn_mask=mask)(x)


OPERATORS = {
    "bounds": (
        IMAGE,
        [
            F.relu,
            F.relu6,
            lambda x: F.hardtanh(x, -0.3, 0.7),
            lambda x: torch.clamp(x, -0.5, 0.25),
            lambda x: torch.clamp(x, min=0.0),
            lambda x: torch.clamp(x, max=0.5),
            lambda x: torch.clamp_max(x, 0.1),
            lambda x: torch.clamp_min(x, -0.1),
        ],
    ),
    "functions": (
        IMAGE,
        [
            torch.sigmoid,
            torch.tanh,
            F.silu,
            F.gelu,
            lambda x: F.gelu(x, approximate="tanh"),
            F.hardswish,
            F.hardsigmoid,
            F.mish,
            lambda x: F.leaky_relu(x, 0.2),
            lambda x: F.elu(x, 0.7),
            lambda x: F.softplus(x),
            torch.exp,
            torch.abs,
            lambda x: torch.rsqrt(x.abs() + 1),
            lambda x: F.prelu(x, torch.tensor([0.1, 0.2, 0.3, 0.4])),
        ],
    ),
    "convolutions": (
        IMAGE,
        [
            lambda x: F.conv2d(x, weight(6, 4, 3, 3), weight(6), padding=1),
            lambda x: F.conv2d(x, weight(6, 4, 3, 2), stride=(2, 1), padding=(0, 1)),
            lambda x: F.conv2d(x, weight(8, 1, 3, 3), weight(8), groups=4, padding="same"),
            lambda x: F.conv2d(x, weight(6, 2, 2, 2), groups=2, dilation=2),
            lambda x: F.conv_transpose2d(x, weight(4, 5, 3, 3), weight(5), 2, 1, 1),
            lambda x: F.conv1d(x.flatten(2), weight(6, 4, 5), weight(6), 2, 2),
            lambda x: F.conv_transpose1d(x.flatten(2), weight(4, 3, 4), weight(3), 2, 1),
        ],
    ),
    "pools": (
        IMAGE,
        [
            lambda x: F.max_pool2d(x, 3, 2, 1),
            lambda x: F.max_pool2d(x, (2, 3), ceil_mode=True),
            lambda x: F.avg_pool2d(x, 2),
            lambda x: F.avg_pool2d(x, 3, 2, 1),
            lambda x: F.avg_pool2d(x, 3, 1, (0, 1), count_include_pad=False),
            lambda x: F.adaptive_avg_pool2d(x, 1),
            lambda x: x.mean((2, 3)),
            lambda x: x.mean(1, keepdim=True),
            lambda x: x.amax((2, 3)),
            lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
            lambda x: F.interpolate(x, size=(10, 12), mode="nearest"),
            lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
            lambda x: F.interpolate(x, size=(13, 5), mode="bilinear", align_corners=True),
        ],
    ),
    "norms": (
        IMAGE,
        [
            lambda x: F.batch_norm(
                x, weight(4), weight(4, seed=1).abs() + 0.5, weight(4), weight(4), eps=1e-3
            ),
            lambda x: F.batch_norm(x, weight(4), weight(4).abs() + 0.5),
            lambda x: F.layer_norm(x, (9,), weight(9), weight(9), 1e-3),
            lambda x: F.layer_norm(x, (7, 9)),
            lambda x: F.rms_norm(x, (9,), weight(9), 1e-3),
            lambda x: F.group_norm(x, 2, weight(4), weight(4)),
            lambda x: F.instance_norm(x),
            lambda x: F.softmax(x, 1),
            lambda x: F.log_softmax(x, -1),
            lambda x: F.normalize(x, dim=1),
        ],
    ),
    "moves": (
        IMAGE,
        [
            lambda x: x[:, 1],
            lambda x: x[:, -1:, 2:-1:2],
            lambda x: x[:, [2, 0]],
            lambda x: torch.cat(x.chunk(2, 1)[::-1], 1),
            lambda x: torch.stack([x, x * 2], 1).flatten(1, 2),
            lambda x: x.permute(0, 2, 3, 1).reshape(2, 63, 4),
            lambda x: F.pad(x, (1, 2, 0, 1), value=0.5),
            lambda x: F.pad(x, (1, 1, 2, 2), mode="reflect"),
            lambda x: F.pixel_shuffle(x, 2),
            lambda x: x.unsqueeze(1).expand(2, 3, 4, 7, 9).sum(1),
            lambda x: x.repeat(1, 2, 1, 1),
            lambda x: torch.where(x > 0, x, -x * 3),
            lambda x: x.masked_fill(x > 0.5, 0.0),
            lambda x: torch.roll(x, 1, 2),
            lambda x: x.split([1, 3], 1)[1],
        ],
    ),
    "products": (
        ROWS,
        [
            lambda x: F.linear(x, weight(6, 8), weight(6)),
            lambda x: F.linear(x, weight(6, 8)),
            lambda x: x @ weight(8, 3),
            lambda x: x @ x.transpose(1, 2),
            lambda x: torch.bmm(x, weight(3, 8, 2)),
            lambda x: torch.addmm(weight(6), x[0], weight(8, 6), alpha=0.5, beta=2.0),
            lambda x: torch.baddbmm(weight(3, 5, 2), x, weight(3, 8, 2), beta=0.25),
            lambda x: torch.einsum("bij,bkj->bik", x, x),
            lambda x: x[0] @ weight(8),
        ],
    ),
    "attention": (
        HEADS,
        [
            attention(),
            attention(is_causal=True),
            attention(scale=0.3),
            masked(torch.ones(6, 6).tril().bool()),
            masked(weight(4, 6, 6)),
            masked(torch.full((6, 6), -torch.inf).triu(1)),
            lambda x: F.scaled_dot_product_attention(x, x[:, :2], x[:, 1:3], enable_gqa=True),
            lambda x: F.scaled_dot_product_attention(x[0], x[1], x[0]),
        ],
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_equals_pytorch(name, tmp_path):
    shape, functions = OPERATORS[name]
    network = Calls(functions)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    wanted = network(x)
    found = run_host(build_host(load(saved(tmp_path, network, x)).mod), x.numpy())
    assert len(found) == len(wanted)
    wrong = [
        index
        for index, (result, value) in enumerate(zip(found, wanted, strict=True))
        if result.shape != tuple(value.shape)
        or not np.allclose(result, value.numpy(), rtol=1e-4, atol=2e-5)
    ]
    assert not wrong


def test_embedding(tmp_path):
    class Tokens(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(11, 4)

        def forward(self, tokens):
            positions = torch.arange(tokens.shape[1])
            return self.embedding(tokens) + positions[:, None]

    network, tokens = Tokens(), torch.tensor([[3, 0, 10], [1, 1, 7]])
    (found,) = run_host(build_host(load(saved(tmp_path, network, tokens)).mod), tokens.numpy())
    np.testing.assert_allclose(found, network(tokens).detach().numpy(), rtol=1e-6)
