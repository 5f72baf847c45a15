"""Files of networks as large as asked for: 3x3 convolutions of 512 channels, one after the other,
on a small image. Seeded weights; nobody trained them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tflite_tables import finished, table

CHANNELS, SIDE = 512, 7
WEIGHTS = CHANNELS * CHANNELS * 9  # of a layer
_SCALE = 0.02


def write_onnx_float(path: Path, layers: int) -> None:
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants, value = [], [], "image"
    for layer in range(layers):
        weight = _floats(layer)
        constants.append(numpy_helper.from_array(weight, f"w{layer}"))
        inputs = [value, f"w{layer}"]
        nodes.append(helper.make_node("Conv", inputs, [f"c{layer}"], f"conv{layer}", pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c{layer}"], [f"r{layer}"], f"relu{layer}"))
        value = f"r{layer}"
    _save_onnx(path, nodes, constants, value, TensorProto.FLOAT)


def write_onnx_qdq(path: Path, layers: int) -> None:
    from onnx import TensorProto, helper, numpy_helper

    def quantize(op_type: str, source: str, target: str, scale: str, point: str) -> Any:
        more = {"axis": 0} if scale.startswith("ws") else {}
        return helper.make_node(op_type, [source, scale, point], [target], target, **more)

    scales = np.full(CHANNELS, _SCALE / 127, np.float32)
    constants = [
        numpy_helper.from_array(np.float32(_SCALE), "s"),
        numpy_helper.from_array(np.int8(-3), "z"),
        numpy_helper.from_array(scales, "ws"),
        numpy_helper.from_array(np.zeros(CHANNELS, np.int8), "wz"),
    ]
    nodes, value = [quantize("QuantizeLinear", "image", "q", "s", "z")], "q"
    for layer in range(layers):
        constants.append(numpy_helper.from_array(_integers(layer), f"w{layer}"))
        nodes += [
            quantize("DequantizeLinear", value, f"x{layer}", "s", "z"),
            quantize("DequantizeLinear", f"w{layer}", f"wr{layer}", "ws", "wz"),
            helper.make_node(
                "Conv", [f"x{layer}", f"wr{layer}"], [f"c{layer}"], f"conv{layer}", pads=[1] * 4
            ),
            quantize("QuantizeLinear", f"c{layer}", f"q{layer}", "s", "z"),
        ]
        value = f"q{layer}"
    _save_onnx(path, nodes, constants, value, TensorProto.INT8)


def _save_onnx(path: Path, nodes: Any, constants: Any, result: str, kind: int) -> None:
    import onnx
    from onnx import TensorProto, helper

    shape = (1, CHANNELS, SIDE, SIDE)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)
    out = helper.make_tensor_value_info(result, kind, shape)
    graph = helper.make_graph(nodes, "large", [image], [out], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


def write_pt2_float(path: Path, layers: int) -> None:
    import torch

    modules: list[Any] = []
    for layer in range(layers):
        convolution = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False)
        convolution.weight = torch.nn.Parameter(torch.from_numpy(_floats(layer)))
        modules += [convolution, torch.nn.ReLU()]
    image = torch.zeros(1, CHANNELS, SIDE, SIDE)
    torch.export.save(torch.export.export(torch.nn.Sequential(*modules).eval(), (image,)), path)


def write_pt2_quantized(path: Path, layers: int) -> None:
    """As ``convert_pt2e`` leaves it: integers, dequantized before each convolution."""
    import torch
    import torch.ao.quantization.fx._decomposed

    ops = torch.ops.quantized_decomposed
    numbers = (_SCALE, 0, -128, 127, torch.int8)
    weight_numbers = (_SCALE / 127, 0, -127, 127, torch.int8)

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for layer in range(layers):
                self.register_buffer(f"weight{layer}", torch.from_numpy(_integers(layer)))

        def forward(self, x: Any) -> Any:
            for layer in range(layers):
                stored = ops.quantize_per_tensor.default(x, *numbers)
                real = ops.dequantize_per_tensor.default(stored, *numbers)
                weight = getattr(self, f"weight{layer}")
                kernel = ops.dequantize_per_tensor.default(weight, *weight_numbers)
                x = torch.nn.functional.conv2d(real, kernel, padding=1)
            stored = ops.quantize_per_tensor.default(x, *numbers)
            return ops.dequantize_per_tensor.default(stored, *numbers)

    image = torch.zeros(1, CHANNELS, SIDE, SIDE)
    torch.export.save(torch.export.export(Network().eval(), (image,)), path)


def write_tflite(path: Path, layers: int) -> None:
    import flatbuffers
    import tflite

    b = flatbuffers.Builder(layers * WEIGHTS + 65536)
    # Weights are OHWI here.
    buffers = [table(b, "Buffer")]
    for layer in range(layers):
        raw = np.ascontiguousarray(_integers(layer).transpose(0, 2, 3, 1)).view(np.uint8)
        buffers.append(table(b, "Buffer", Data=b.CreateNumpyVector(raw.reshape(-1))))
    image, weight = (1, SIDE, SIDE, CHANNELS), (CHANNELS, 3, 3, CHANNELS)

    def tensor(name: str, shape: tuple[int, ...], scales: Any, point: int, buffer: int) -> int:
        numbers = np.atleast_1d(np.asarray(scales, np.float32))
        quantization = table(
            b,
            "QuantizationParameters",
            Scale=b.CreateNumpyVector(numbers),
            ZeroPoint=b.CreateNumpyVector(np.full(numbers.size, point, np.int64)),
        )
        return table(
            b,
            "Tensor",
            Shape=b.CreateNumpyVector(np.array(shape, np.int32)),
            Type=tflite.TensorType.INT8,
            Buffer=buffer,
            Name=b.CreateString(name),
            Quantization=quantization,
        )

    scales = np.full(CHANNELS, _SCALE / 127, np.float32)
    tensors = [tensor("image", image, _SCALE, -3, 0)]
    operators = []
    for layer in range(layers):
        tensors.append(tensor(f"w{layer}", weight, scales, 0, layer + 1))
        tensors.append(tensor(f"conv{layer}", image, _SCALE, -3, 0))
        options = table(b, "Conv2DOptions", StrideH=1, StrideW=1)
        inputs = np.array([2 * layer, 2 * layer + 1, -1], np.int32)
        operators.append(
            table(
                b,
                "Operator",
                OpcodeIndex=0,
                Inputs=b.CreateNumpyVector(inputs),
                Outputs=b.CreateNumpyVector(np.array([2 * layer + 2], np.int32)),
                BuiltinOptions=options,
                BuiltinOptionsType=tflite.BuiltinOptions.Conv2DOptions,
            )
        )
    code = tflite.BuiltinOperator.CONV_2D
    codes = [table(b, "OperatorCode", BuiltinCode=code, DeprecatedBuiltinCode=code, Version=1)]
    content = finished(
        b,
        tensors=tensors,
        operators=operators,
        codes=codes,
        buffers=buffers,
        inputs=[0],
        outputs=[2 * layers],
    )
    path.write_bytes(content)


def _floats(layer: int) -> np.ndarray:
    """Weights OIHW that keep a unit variance."""
    random = np.random.default_rng(layer)
    weight = random.standard_normal((CHANNELS, CHANNELS, 3, 3), np.float32)
    return weight * np.float32((2 / (9 * CHANNELS)) ** 0.5)


def _integers(layer: int) -> np.ndarray:
    """Weights OIHW, int8."""
    return np.random.default_rng(layer).integers(-127, 128, (CHANNELS, CHANNELS, 3, 3), np.int8)


# By what they are called: the writer, the suffix, the bytes of a weight.
KINDS: dict[str, tuple[Callable[[Path, int], None], str, int]] = {
    "ONNX, float": (write_onnx_float, "onnx", 4),
    "ONNX, QDQ": (write_onnx_qdq, "onnx", 1),
    "TFLite, int8": (write_tflite, "tflite", 1),
    "PyTorch, float": (write_pt2_float, "pt2", 4),
    "PyTorch, PT2E": (write_pt2_quantized, "pt2", 1),
}
