"""Small networks of kinds that people have, each in plain PyTorch; `FAMILIES` has them by name."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch_networks import conv_bn


def block(inputs, outputs, kernel=3, stride=1, groups=1, act=nn.ReLU):
    """Convolution, batch norm, activation."""
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), act())


class UNet(nn.Module):
    """Two levels down and up again, each joined with what it was made of."""

    def __init__(self, up, width=8, classes=3):
        super().__init__()
        self.down = nn.ModuleList([block(3, width), block(width, 2 * width)])
        self.middle = block(2 * width, 4 * width)

        def upwards(inputs):
            if up == "transposed":
                return nn.ConvTranspose2d(inputs, inputs // 2, 2, 2)
            resize = nn.Upsample(scale_factor=2, mode=up)
            return nn.Sequential(resize, nn.Conv2d(inputs, inputs // 2, 1))

        self.ups = nn.ModuleList([upwards(4 * width), upwards(2 * width)])
        self.joined = nn.ModuleList([block(4 * width, 2 * width), block(2 * width, width)])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for down in self.down:
            skips.append(down(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.middle(x)
        for up, joined in zip(self.ups, self.joined, strict=True):
            x = joined(torch.cat([up(x), skips.pop()], 1))
        return self.head(x)


class Keywords(nn.Module):
    """Over time: convolutions, pools, dense layers (M5)."""

    def __init__(self, inputs=10, classes=6):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv1d(inputs, 16, 9, 2, 4), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2)),
            *(nn.Conv1d(16, 24, 3, padding=1), nn.BatchNorm1d(24), nn.ReLU(), nn.AvgPool1d(2)),
        )
        self.dense = nn.Sequential(nn.Linear(24 * 6, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, x):
        return self.dense(self.layers(x).flatten(1))


class SeparableKeywords(nn.Module):
    """Depthwise convolutions over time, residual, dilated (TC-ResNet, QuartzNet)."""

    def __init__(self, inputs=10, width=16, classes=6):
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(inputs, width, 3, padding=1), nn.ReLU())

        def separable(dilation):
            return nn.Sequential(
                nn.Conv1d(width, width, 5, padding=2 * dilation, dilation=dilation, groups=width),
                nn.Conv1d(width, width, 1),
                nn.BatchNorm1d(width),
            )

        self.blocks = nn.ModuleList([separable(1), separable(2)])
        self.head = nn.Conv1d(width, classes, 1)

    def forward(self, x):
        x = self.first(x)
        for separable in self.blocks:
            x = F.relu(x + separable(x))
        return self.head(x).mean(2)


class Ssd(nn.Module):
    """Boxes and classes of two sizes of maps, each head reshaped and joined."""

    def __init__(self, classes=4, anchors=3):
        super().__init__()
        self.classes = classes
        self.stem = nn.Sequential(*conv_bn(3, 8, 3, 2), *conv_bn(8, 16, 3, 2))
        self.extra = nn.Sequential(*conv_bn(16, 8, 1), *conv_bn(8, 24, 3, 2))
        self.boxes = nn.ModuleList([nn.Conv2d(n, anchors * 4, 3, padding=1) for n in (16, 24)])
        self.scores = nn.ModuleList(
            [nn.Conv2d(n, anchors * classes, 3, padding=1) for n in (16, 24)]
        )

    def forward(self, x):
        fine = self.stem(x)
        maps = [fine, self.extra(fine)]

        def joined(heads, size):
            found = (head(x).permute(0, 2, 3, 1) for head, x in zip(heads, maps, strict=True))
            return torch.cat([each.reshape(x.shape[0], -1, size) for each in found], 1)

        return joined(self.boxes, 4), joined(self.scores, self.classes).softmax(-1)


class C2f(nn.Module):
    """YOLOv8's block: half goes through bottlenecks, and all of it is joined."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.half = outputs // 2
        self.first = block(inputs, outputs, 1, act=nn.SiLU)
        self.inner = nn.Sequential(
            block(self.half, self.half, act=nn.SiLU), block(self.half, self.half, act=nn.SiLU)
        )
        self.last = block(self.half * 3, outputs, 1, act=nn.SiLU)

    def forward(self, x):
        left, right = self.first(x).split(self.half, 1)
        return self.last(torch.cat([left, right, right + self.inner(right)], 1))


class Yolo(nn.Module):
    """SiLU, split, a chain of 5x5 pools, resize, one head with boxes by exponent and sigmoids."""

    def __init__(self, width=8, classes=2):
        super().__init__()
        self.stem = nn.Sequential(
            block(3, width, 3, 2, act=nn.SiLU), block(width, 2 * width, 3, 2, act=nn.SiLU)
        )
        self.c2f = C2f(2 * width, 2 * width)
        self.down = block(2 * width, 2 * width, 3, 2, act=nn.SiLU)
        self.before = block(2 * width, width, 1, act=nn.SiLU)
        self.after = block(4 * width, 2 * width, 1, act=nn.SiLU)
        self.up = C2f(4 * width, 2 * width)
        self.head = nn.Conv2d(2 * width, 5 + classes, 1)

    def forward(self, x):
        fine = self.c2f(self.stem(x))
        pools = [self.before(self.down(fine))]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        coarse = self.after(torch.cat(pools, 1))
        wide = F.interpolate(coarse, scale_factor=2.0, mode="nearest")
        found = self.head(self.up(torch.cat([wide, fine], 1)))
        found = found.flatten(2).transpose(1, 2)
        center, scores = found[..., :2], found[..., 4:]
        size = found[..., 2:4].clamp(max=4.0).exp()
        return torch.cat([center.sigmoid(), size, scores.sigmoid()], -1)


class MobileNetV1(nn.Module):
    """MLPerf Tiny's person detection: a quarter of the width, one channel."""

    def __init__(self, classes=2):
        super().__init__()
        widths = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)]
        widths += [(128, 1)] * 5 + [(256, 2), (256, 1)]
        layers, inputs = [block(1, 8, 3, 2)], 8
        for outputs, stride in widths:
            layers += [block(inputs, inputs, 3, stride, inputs), block(inputs, outputs, 1)]
            inputs = outputs
        self.layers = nn.Sequential(*layers, nn.AvgPool2d(3))
        self.head = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.head(self.layers(x).flatten(1)).softmax(-1)


class Speech(nn.Module):
    """Speech without recurrence (Wav2Letter): strided and wide convolutions over time, clipped,
    to a score of each letter at each time."""

    def __init__(self, inputs=13, letters=9):
        super().__init__()
        sizes = [(inputs, 16, 7, 2), (16, 16, 5, 1), (16, 24, 9, 1), (24, 32, 1, 1)]
        self.layers = nn.ModuleList(
            [nn.Conv1d(i, o, kernel, stride, kernel // 2) for i, o, kernel, stride in sizes]
        )
        self.head = nn.Conv1d(32, letters, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).clamp(0.0, 20.0)
        return self.head(x).log_softmax(1)


class Mixer(nn.Module):
    """MLP-Mixer: layers over places, then over channels."""

    def __init__(self, width=24, places=16, classes=5):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)

        def mlp(size, hidden):
            return nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Linear(hidden, size))

        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
        self.tokens, self.channels = mlp(places, 20), mlp(width, 32)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.norms[1](x))
        return self.head(self.norms[2](x).mean(1))


class SqueezeExcite(nn.Module):
    """Each channel times a factor of the means of all: MobileNetV3's gate, or EfficientNet's."""

    def __init__(self, channels, hidden, act, gate):
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(channels, hidden, 1), nn.Conv2d(hidden, channels, 1)
        self.act, self.gate = act(), gate()

    def forward(self, x):
        means = F.adaptive_avg_pool2d(x, 1)
        return x * self.gate(self.expand(self.act(self.reduce(means))))


class Excited(nn.Module):
    """An inverted residual with a squeeze-excite in its middle."""

    def __init__(self, act, inner, gate, width=8, hidden=24, classes=5):
        super().__init__()
        self.stem = block(3, width, 3, 2, act=act)
        self.middle = nn.Sequential(
            block(width, hidden, 1, act=act),
            block(hidden, hidden, 5, 1, hidden, act=act),
            SqueezeExcite(hidden, 8, inner, gate),
            *(nn.Conv2d(hidden, width, 1, bias=False), nn.BatchNorm2d(width)),
        )
        self.last = block(width, 32, 1, act=act)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        x = self.stem(x)
        x = self.last(x + self.middle(x))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class ConvNeXt(nn.Module):
    """Depthwise 7x7, a layer norm of channels, GELU, a factor for each channel."""

    def __init__(self, width=16, classes=5):
        super().__init__()
        self.stem, self.depthwise = (
            nn.Conv2d(3, width, 4, 4),
            nn.Conv2d(width, width, 7, padding=3, groups=width),
        )
        self.norm, self.last = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.factors = nn.Parameter(torch.linspace(0.2, 0.8, width))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.factors * self.down(F.gelu(self.up(y)))
        x = x + y.permute(0, 3, 1, 2)
        return self.head(self.last(x.mean([-2, -1])))


class Decoder(nn.Module):
    """A step of a decoder: keys and values of the tokens before come in and go out, longer."""

    def __init__(self, width=32, heads=4, hidden=64):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x, keys, values):
        batch, length, width = x.shape
        y = self.norm1(x)

        def split(value):
            return value.view(batch, length, self.heads, self.size).transpose(1, 2)

        keys = torch.cat([keys, split(self.key(y))], 2)
        values = torch.cat([values, split(self.value(y))], 2)
        scores = split(self.query(y)) @ keys.transpose(-1, -2) / math.sqrt(self.size)
        before = keys.shape[2] - length
        hidden = torch.ones(length, keys.shape[2], dtype=torch.bool).triu(before + 1)
        scores = scores.masked_fill(hidden, -1e4)
        context = (scores.softmax(-1) @ values).transpose(1, 2).reshape(batch, length, width)
        x = x + self.output(context)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh")), keys, values


# The network and the shapes of its inputs.
FAMILIES = {
    "unet_transposed": (lambda: UNet("transposed"), [(1, 3, 16, 16)]),
    "unet_nearest": (lambda: UNet("nearest"), [(1, 3, 16, 16)]),
    "unet_bilinear": (lambda: UNet("bilinear"), [(1, 3, 16, 16)]),
    "keywords": (Keywords, [(1, 10, 48)]),
    "separable_keywords": (SeparableKeywords, [(1, 10, 24)]),
    "ssd": (Ssd, [(1, 3, 32, 32)]),
    "yolo": (Yolo, [(1, 3, 32, 32)]),
    "person_detection": (MobileNetV1, [(1, 1, 96, 96)]),
    "speech": (Speech, [(1, 13, 40)]),
    "mixer": (Mixer, [(1, 3, 16, 16)]),
    "mobilenet_v3": (
        lambda: Excited(nn.Hardswish, nn.ReLU, nn.Hardsigmoid),
        [(1, 3, 16, 16)],
    ),
    "efficientnet": (lambda: Excited(nn.SiLU, nn.SiLU, nn.Sigmoid), [(1, 3, 16, 16)]),
    "convnext": (ConvNeXt, [(1, 3, 32, 32)]),
    "decoder": (Decoder, [(1, 3, 32), (1, 4, 5, 8), (1, 4, 5, 8)]),
}
