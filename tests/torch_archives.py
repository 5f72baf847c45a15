"""Small exported programs, and archives of them with other entries."""

import json
import zipfile

import torch


class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(3)
        self.fc = torch.nn.Linear(3, 4)
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x):
        return self.fc(torch.relu(self.norm(self.conv(x))).mean((2, 3))) + self.shift


class TinyQuantized(torch.nn.Module):
    """As a quantizer leaves a convolution."""

    def __init__(self):
        super().__init__()
        weight = torch.randint(-127, 128, (3, 2, 3, 3), generator=torch.Generator().manual_seed(0))
        self.register_buffer("weight", weight.to(torch.int8))
        self.register_buffer("bias", torch.tensor([100, -50, 0], dtype=torch.int32))

    def forward(self, x):
        ops = torch.ops.quantized_decomposed
        there = ops.quantize_per_tensor.default
        back = ops.dequantize_per_tensor.default
        x = back(there(x, 0.25, 0, *INT8), 0.25, 0, *INT8)
        weight, bias = back(self.weight, 0.5, 0, *INT8), back(self.bias, 0.125, 0, *INT32)
        y = torch.relu(torch.conv2d(x, weight, bias))
        return back(there(y, 2.0, 0, *INT8), 2.0, 0, *INT8)


INT8, INT32 = (-128, 127, torch.int8), (-(2**30), 2**30 - 1, torch.int32)


def changed(file, folder, change):
    """The archive after ``change`` of its entries, by their name without the folder; with the
    checksums of what it then holds."""
    with zipfile.ZipFile(file) as archive:
        entries = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    change(entries)
    result = folder / "changed.pt2"
    with zipfile.ZipFile(result, "w") as archive:
        for name, data in entries.items():
            archive.writestr(f"net/{name}", data)
    return result


def edited(name, edit):
    """A change of one JSON entry."""

    def change(entries):
        document = json.loads(entries[name])
        edit(document)
        entries[name] = json.dumps(document).encode()

    return change


MODEL = "models/model.json"
WEIGHTS = "data/weights/model_weights_config.json"


def nodes(document):
    return document["graph_module"]["graph"]["nodes"]
