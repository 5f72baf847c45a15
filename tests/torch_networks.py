"""Networks in plain PyTorch, as people write them; small by default."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    """ResNet's basic block."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        shortcut = x if self.downsample is None else self.downsample(x)
        return self.relu(y + shortcut)


class ResNet(nn.Module):
    def __init__(self, width=8, blocks=(1, 1), classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        stages, inputs = [], width
        for stage, count in enumerate(blocks):
            for number in range(count):
                outputs = width * 2**stage
                stages.append(Residual(inputs, outputs, 2 if stage and not number else 1))
                inputs = outputs
        self.blocks = nn.Sequential(*stages)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.blocks(self.maxpool(self.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Inverted(nn.Module):
    """MobileNetV2's block."""

    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        layers = []
        if expansion != 1:
            layers += conv_bn(inputs, hidden, 1)
        layers += conv_bn(hidden, hidden, 3, stride, hidden)
        layers += [nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.conv = nn.Sequential(*layers)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.residual else self.conv(x)


def conv_bn(inputs, outputs, kernel, stride=1, groups=1):
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return [conv, nn.BatchNorm2d(outputs), nn.ReLU6(inplace=True)]


class MobileNetV2(nn.Module):
    def __init__(self, stages=((1, 8, 1, 1), (6, 8, 2, 2)), first=8, last=32, classes=10):
        super().__init__()
        layers, inputs = conv_bn(3, first, 3, 2), first
        for expansion, outputs, count, stride in stages:
            for number in range(count):
                layers.append(Inverted(inputs, outputs, stride if number == 0 else 1, expansion))
                inputs = outputs
        self.features = nn.Sequential(*layers, *conv_bn(inputs, last, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(last, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


class ViT(nn.Module):
    def __init__(self, width=32, heads=4, patch=4, size=16, classes=10):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.cls = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.1)
        self.block = nn.TransformerEncoderLayer(
            width, heads, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.block(x))[:, 0])


class BertLayer(nn.Module):
    def __init__(self, width=32, heads=4, hidden=64):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        batch, length, width = x.shape

        def split(value):
            return value.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = query @ key.transpose(-1, -2) / math.sqrt(width // self.heads)
        context = (torch.softmax(scores, -1) @ value).transpose(1, 2).reshape(batch, length, width)
        x = self.norm1(x + self.output(context))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class LlamaBlock(nn.Module):
    """RMS norm, rotary positions, grouped queries, SiLU."""

    def __init__(self, width=64, heads=4, groups=2, hidden=96, length=16):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        kept = groups * self.size
        self.query, self.output = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(width, kept, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        rates = 1 / (10000 ** (torch.arange(0, self.size, 2) / self.size))
        angles = torch.outer(torch.arange(length), rates).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def rotated(self, x):
        first, second = x.chunk(2, -1)
        return x * self.cos + torch.cat([-second, first], -1) * self.sin

    def forward(self, x):
        batch, length, width = x.shape
        y = self.norm1(x)

        def split(value, heads):
            return value.view(batch, length, heads, self.size).transpose(1, 2)

        query = self.rotated(split(self.query(y), self.heads))
        key = self.rotated(split(self.key(y), self.groups))
        times = self.heads // self.groups
        key = key.repeat_interleave(times, 1)
        value = split(self.value(y), self.groups).repeat_interleave(times, 1)
        context = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(context.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class LeNet(nn.Module):
    """Flattens an image of more than one pixel."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(16 * 4 * 4, 24), nn.Linear(24, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.avg_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))


# The network and the shape of its input.
SMALL_NETWORKS = {
    "resnet": (ResNet, (1, 3, 32, 32)),
    "mobilenet": (MobileNetV2, (1, 3, 32, 32)),
    "lenet": (LeNet, (1, 1, 20, 20)),
    "vit": (ViT, (1, 3, 16, 16)),
    "bert": (BertLayer, (1, 12, 32)),
    "llama": (LlamaBlock, (1, 16, 64)),
}


class Parts(nn.Module):
    """Values in parts, enlarged, within bounds, and joined, one of them twice."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(2, 4, 3), nn.Conv2d(6, 3, 1)

    def forward(self, x):
        left, right = torch.chunk(self.first(x), 2, 1)
        left = F.interpolate(left, scale_factor=2.0)[:, :, 1:]
        right = F.interpolate(torch.clamp(right, -0.4, 0.5), size=left.shape[2:])
        first, _ = torch.split(torch.cat([left, right], 1), [3, 1], 1)
        return self.last(torch.cat([first, first], 1))


class Lines(nn.Module):
    """Lines made shorter and longer again."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv1d(3, 8, 5, stride=2, padding=2)
        self.up = nn.ConvTranspose1d(8, 4, 4, stride=2, padding=1)
        self.last = nn.Conv1d(4, 2, 1)

    def forward(self, x):
        return self.last(torch.relu(self.up(torch.relu(self.down(x)))))


def seeded(make, seed=0):
    """A network with weights and statistics drawn from a seed, for inference."""
    torch.manual_seed(seed)
    network = make().eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.3)
            module.running_var.uniform_(0.5, 2.0)
            nn.init.uniform_(module.weight, 0.7, 1.3)
            nn.init.normal_(module.bias, 0, 0.1)
    return network


def saved(folder, network, *inputs, name="net", **options):
    """The file of a network exported with these inputs."""
    file = folder / f"{name}.pt2"
    torch.export.save(torch.export.export(network, tuple(inputs), **options), file)
    return file
