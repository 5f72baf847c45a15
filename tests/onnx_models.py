"""ONNX models made by hand, quantized and run by ONNX Runtime. Needs both packages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

FLOAT = onnx.TensorProto.FLOAT


class Maker:
    """Writes nodes; `model` puts them together."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, array: np.ndarray, name: str) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op_type: str, inputs: list[str], name: str, domain: str = "", **attrs) -> str:
        self.nodes.append(
            helper.make_node(op_type, inputs, [f"{name}_out"], name, domain=domain, **attrs)
        )
        return f"{name}_out"

    def weight(self, *shape: int, name: str) -> str:
        fan_in = int(np.prod(shape[1:]))
        values = self.random.normal(0, (2 / fan_in) ** 0.5, shape).astype("float32")
        return self.constant(values, name)

    def conv(self, x: str, inputs: int, outputs: int, kernel: int, name: str, **attrs) -> str:
        shape = (outputs, inputs // attrs.get("group", 1), kernel, kernel)
        bias = self.random.normal(0, 0.1, outputs).astype("float32")
        names = [self.weight(*shape, name=f"{name}.weight"), self.constant(bias, f"{name}.bias")]
        attrs = {"pads": [kernel // 2] * 4} | attrs
        return self.node("Conv", [x, *names], name, kernel_shape=[kernel, kernel], **attrs)

    def model(
        self,
        inputs: dict[str, tuple],
        outputs: dict[str, tuple],
        opset: int = 17,
        types: dict[str, int] | None = None,
    ) -> onnx.ModelProto:
        types = types or {}

        def infos(values):
            return [
                helper.make_tensor_value_info(name, types.get(name, FLOAT), shape)
                for name, shape in values.items()
            ]

        graph = helper.make_graph(self.nodes, "net", infos(inputs), infos(outputs), self.constants)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def residual_net(size: int = 16, batch: int | str = 1) -> onnx.ModelProto:
    """A stem, a pool, a residual block, a depthwise one with ReLU6, a classifier."""
    m = Maker()
    x = m.node("Relu", [m.conv("image", 3, 8, 3, "stem", strides=[2, 2])], "stem_relu")
    x = m.node("MaxPool", [x], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = m.node("Relu", [m.conv(x, 8, 8, 3, "block.conv1")], "block.relu1")
    y = m.conv(y, 8, 8, 3, "block.conv2")
    x = m.node("Relu", [m.node("Add", [y, x], "block.add")], "block.relu2")
    x = m.conv(x, 8, 24, 1, "expand")
    bounds = [m.constant(np.float32(0), "low"), m.constant(np.float32(6), "high")]
    x = m.node("Clip", [x, *bounds], "expand_relu6")
    x = m.node("Clip", [m.conv(x, 24, 24, 3, "depth", group=24), *bounds], "depth_relu6")
    x = m.node("GlobalAveragePool", [x], "average")
    x = m.node("Flatten", [x], "flatten")
    fc = [
        m.weight(10, 24, name="fc.weight"),
        m.constant(np.linspace(-1, 1, 10, dtype="float32"), "fc.bias"),
    ]
    m.node("Gemm", [x, *fc], "fc", transB=1)
    return m.model({"image": (batch, 3, size, size)}, {"fc_out": (batch, 10)})


def write_host_network(path: Path) -> None:
    """A network of which nothing is for a device to compute."""
    x, y = (helper.make_tensor_value_info(n, FLOAT, [1, 10]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Sigmoid", ["x"], ["y"])], "host", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def quantized(
    model: onnx.ModelProto, folder: Path, form: str, samples: int = 3, **options
) -> onnx.ModelProto:
    """`model` quantized by ONNX Runtime on random inputs. `form`: "QDQ" or "QOperator"; options:
    `activations` and `weights` ("int8", "uint8"), `per_channel`, `symmetric`, `reduce_range`."""
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )
    from onnxruntime.quantization.shape_inference import quant_pre_process

    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in model.graph.input
    }
    random = np.random.default_rng(1)
    images = iter(
        [
            {name: random.normal(size=shape).astype("float32") for name, shape in shapes.items()}
            for _ in range(samples)
        ]
    )

    class Reader(CalibrationDataReader):
        def get_next(self):
            return next(images, None)

    types = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8}
    source, prepared, target = (str(folder / f"{name}.onnx") for name in ("f", "p", "q"))
    onnx.save(model, source)
    quant_pre_process(source, prepared, skip_symbolic_shape=True)
    quantize_static(
        prepared,
        target,
        Reader(),
        quant_format=QuantFormat[form],
        activation_type=types[options.get("activations", "int8")],
        weight_type=types[options.get("weights", "int8")],
        per_channel=options.get("per_channel", False),
        reduce_range=options.get("reduce_range", False),
        extra_options={"ActivationSymmetric": options.get("symmetric", False)},
    )
    return onnx.load(target)


INTEGERS = {onnx.TensorProto.INT8, onnx.TensorProto.UINT8}


def with_layers(model: onnx.ModelProto) -> onnx.ModelProto:
    """With every quantized tensor among the outputs, in order."""
    points = {
        tensor.name: tensor.data_type
        for tensor in model.graph.initializer
        if tensor.data_type in INTEGERS
    }
    shapes = {
        value.name: value for value in onnx.shape_inference.infer_shapes(model).graph.value_info
    }
    made = onnx.ModelProto()
    made.CopyFrom(model)
    present = {value.name for value in made.graph.output}
    for node in model.graph.node:
        if (
            not node.op_type.startswith(("QLinear", "Quantize", "QGemm"))
            or node.output[0] in present
        ):
            continue
        at = {"QLinearConcat": 1}.get(node.op_type, len(node.input) - 1)
        if node.op_type == "QLinearConv":
            at = 7
        kind = points[node.input[at]]
        known = shapes.get(node.output[0])
        dims = (
            [dim.dim_value for dim in known.type.tensor_type.shape.dim]
            if known is not None and known.type.tensor_type.HasField("shape")
            else None
        )
        made.graph.output.append(helper.make_tensor_value_info(node.output[0], kind, dims))
    return made


def run(model: onnx.ModelProto, *inputs: np.ndarray, optimized: bool = True) -> list[np.ndarray]:
    """The outputs, by ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))
