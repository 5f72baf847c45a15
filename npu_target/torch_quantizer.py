"""A quantizer for PyTorch 2 export (PT2E) whose networks fit the device exactly.

For ``prepare_pt2e`` and ``prepare_qat_pt2e`` of torchao; needs torch and torchao, and nothing of
TVM:

    from npu_target.torch_quantizer import NpuQuantizer
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    program = torch.export.export(network.eval(), (image,))
    prepared = prepare_pt2e(program.module(), NpuQuantizer())
    for image in images:
        prepared(image)
    quantized = convert_pt2e(prepared)
    torch.export.save(torch.export.export(quantized, (image,)), "network.pt2")

Everything is symmetric int8 with one scale a tensor, weights included; biases are int32 in steps of
the products that they are added to; the operands of an addition have one scale. So each layer is
a sum of int8 products, scaled once and rounded: what the device does.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import (
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import (
    DerivedQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    QuantizationSpecBase,
    Quantizer,
    SharedQuantizationSpec,
)

_KEY = "quantization_annotation"
# Sums must have room for the products beside the bias.
_BIAS_LIMIT = 2**30

_aten = torch.ops.aten
_PRODUCTS_WITH_WEIGHTS = frozenset(
    {
        _aten.conv1d.default,
        _aten.conv2d.default,
        _aten.conv2d.padding,
        _aten.conv_transpose1d.default,
        _aten.conv_transpose2d.input,
        _aten.linear.default,
    }
)
_MATMULS = frozenset({_aten.matmul.default, _aten.bmm.default, _aten.mm.default})
_ADDS = frozenset({_aten.add.Tensor, _aten.add_.Tensor})
_NORMS = frozenset({_aten.batch_norm.default})
# At the end of a layer: the layer's result is what comes out of them.
_RELUS = frozenset(
    {
        _aten.relu.default,
        _aten.relu_.default,
        _aten.relu6.default,
        _aten.relu6_.default,
        _aten.hardtanh.default,
        _aten.hardtanh_.default,
    }
)
_AVERAGES = frozenset({_aten.mean.dim, _aten.adaptive_avg_pool2d.default, _aten.avg_pool2d.default})
# One int8 for each int8.
_TABLES = frozenset(
    {
        _aten.elu.default,
        _aten.gelu.default,
        _aten.hardsigmoid.default,
        _aten.hardswish.default,
        _aten.hardswish_.default,
        _aten.leaky_relu.default,
        _aten.leaky_relu_.default,
        _aten.sigmoid.default,
        _aten.silu.default,
        _aten.silu_.default,
        _aten.tanh.default,
    }
)
# Move or compare values: what comes out has the scale of what goes in.
_SAME_SCALE = frozenset(
    {
        *_RELUS,
        _aten.max_pool2d.default,
        _aten.dropout.default,
        _aten.dropout_.default,
        _aten.flatten.using_ints,
        _aten.view.default,
        _aten.reshape.default,
        _aten.permute.default,
        _aten.transpose.int,
        _aten.squeeze.dim,
        _aten.unsqueeze.default,
        _aten.contiguous.default,
        _aten.clone.default,
        _aten.clamp.default,
        _aten.clamp_min.default,
        _aten.clamp_max.default,
        _aten.select.int,
        _aten.slice.Tensor,
        _aten.upsample_nearest2d.vec,
    }
)
# The same of one value for several, which nodes of their own take out.
_SPLITS = frozenset({_aten.chunk.default, _aten.split.Tensor, _aten.split_with_sizes.default})


class NpuQuantizer(Quantizer):
    """Which values of an exported module become int8, by which observers.

    Convolutions and products with their ReLU, additions, averages, and functions of one value
    such as a sigmoid become integer, and so does what moves int8 values between them. The rest
    stays float.

    Parameters
    ----------
    is_qat : bool
        Fake quantization with moving averages, for ``prepare_qat_pt2e``; else observers that
        choose ranges by histograms, for ``prepare_pt2e``. Call `fit_biases` after QAT.
    """

    def __init__(self, is_qat: bool = False) -> None:
        self._activation = _activation_spec(is_qat)
        self._weight = _weight_spec(is_qat)

    def annotate(self, model: GraphModule) -> GraphModule:
        """Mark the nodes of ``model``."""
        for node in model.graph.nodes:
            if node.op != "call_function" or _is_annotated(node):
                continue
            if node.target in _SPLITS and _comes_from_integer(node.args[0]):
                self._annotate_split(node)
            if not _is_float(node):
                continue
            if node.target in _PRODUCTS_WITH_WEIGHTS:
                self._annotate_product(node)
            elif node.target in _MATMULS or _is_tensor_product(node):
                inputs = dict.fromkeys(node.args[:2], self._activation)
                self._annotate_layer(node, inputs)
            elif node.target in _ADDS and _is_residual(node):
                first, second = node.args
                shared = SharedQuantizationSpec((first, node))
                self._annotate_layer(node, {first: self._activation, second: shared})
            elif node.target in _AVERAGES or node.target in _TABLES:
                self._annotate_layer(node, {node.args[0]: self._activation})
            elif node.target is _aten.cat.default:
                self._annotate_same_scale(node, list(node.args[0]))
            elif node.target in _SAME_SCALE and _comes_from_integer(node.args[0]):
                self._annotate_same_scale(node, [node.args[0]])
        return model

    def validate(self, model: GraphModule) -> None:
        """Nothing is left to check: `annotate` marks what fits."""

    def _annotate_product(self, node: Node) -> None:
        value, weight = node.args[:2]
        inputs: dict[Node, QuantizationSpecBase] = {value: self._activation, weight: self._weight}
        bias = node.args[2] if len(node.args) > 2 else None
        if isinstance(bias, Node):
            inputs[bias] = DerivedQuantizationSpec(
                derived_from=[(value, node), (weight, node)],
                derive_qparams_fn=_bias_numbers,
                dtype=torch.int32,
                quant_min=-_BIAS_LIMIT,
                quant_max=_BIAS_LIMIT - 1,
                qscheme=torch.per_tensor_symmetric,
            )
        self._annotate_layer(node, inputs)

    def _annotate_layer(self, node: Node, inputs: dict[Node, QuantizationSpecBase]) -> None:
        """A node, and a batch norm and a ReLU behind it, as one layer."""
        last = node
        for following in (_NORMS, _RELUS):
            user = _sole_user(last)
            if user is not None and user.target in following:
                _mark(last, {} if last is not node else inputs, None)
                last = user
        _mark(last, inputs if last is node else {}, self._activation)

    def _annotate_same_scale(self, node: Node, values: list[Node]) -> None:
        first, *others = dict.fromkeys(values)  # one of them may be there twice
        shared = SharedQuantizationSpec((first, node))
        # The first first: the others are made after what they share.
        inputs: dict[Node, QuantizationSpecBase] = {first: self._activation}
        inputs.update(dict.fromkeys(others, shared))
        _mark(node, inputs, shared)

    def _annotate_split(self, node: Node) -> None:
        value = node.args[0]
        _mark(node, {value: self._activation}, None)
        for part in node.users:
            if part.target is getitem:
                _mark(part, {}, SharedQuantizationSpec((value, node)))


def fit_biases(model: GraphModule) -> GraphModule:
    """Round the biases of a module that ``convert_pt2e`` gave to the steps of the device.

    A batch norm that was folded after quantization-aware training leaves a bias in float. With its
    rounding the module computes what the device will. Biases that are int32 stay as they are.
    """
    for node in model.graph.nodes:
        if node.target not in _PRODUCTS_WITH_WEIGHTS or len(node.args) < 3:
            continue
        value, weight, bias = node.args[:3]
        if not isinstance(bias, Node) or bias.op != "get_attr":
            continue
        scales = [_scale_of(value), _scale_of(weight)]
        if None in scales:
            continue
        owner, _, name = str(bias.target).rpartition(".")
        module = model.get_submodule(owner)
        found = getattr(module, name).detach()
        step = torch.tensor(scales[0], dtype=torch.float32) * torch.tensor(
            scales[1], dtype=torch.float32
        )
        rounded = torch.round(found / step).clamp(-_BIAS_LIMIT, _BIAS_LIMIT - 1) * step
        if isinstance(getattr(module, name), torch.nn.Parameter):
            getattr(module, name).data.copy_(rounded)
        else:
            getattr(module, name).copy_(rounded)
    return model


def _activation_spec(is_qat: bool) -> QuantizationSpec:
    observer: Any = HistogramObserver.with_args(eps=2**-24)
    if is_qat:
        observer = FusedMovingAvgObsFakeQuantize.with_args(
            observer=MovingAverageMinMaxObserver, eps=2**-24
        )
    return _int8(observer, -128)


def _weight_spec(is_qat: bool) -> QuantizationSpec:
    observer: Any = MinMaxObserver.with_args(eps=2**-24)
    if is_qat:
        # Of weights the range is that of the last step, not an average.
        observer = FusedMovingAvgObsFakeQuantize.with_args(
            observer=MovingAverageMinMaxObserver, averaging_constant=1.0, eps=2**-24
        )
    return _int8(observer, -127)


def _int8(observer: Any, least: int) -> QuantizationSpec:
    return QuantizationSpec(
        dtype=torch.int8,
        observer_or_fake_quant_ctr=observer,
        quant_min=least,
        quant_max=127,
        qscheme=torch.per_tensor_symmetric,
    )


def _bias_numbers(observers: list[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Scale and zero point of a bias, of those of a value and a weight."""
    value, weight = (observer.calculate_qparams()[0] for observer in observers)
    return value * weight, torch.zeros_like(value, dtype=torch.int32)


def _mark(
    node: Node, inputs: dict[Node, QuantizationSpecBase], output: QuantizationSpecBase | None
) -> None:
    node.meta[_KEY] = QuantizationAnnotation(
        input_qspec_map=dict(inputs), output_qspec=output, _annotated=True
    )


def _is_annotated(node: Node) -> bool:
    annotation = node.meta.get(_KEY)
    return annotation is not None and annotation._annotated


def _comes_from_integer(value: Any) -> bool:
    """Whether a layer that was marked gives the value in int8."""
    annotation = value.meta.get(_KEY) if isinstance(value, Node) else None
    return annotation is not None and annotation.output_qspec is not None


def _is_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype is torch.float32


def _is_residual(node: Node) -> bool:
    """Whether an addition is of two computed values of one shape."""
    return (
        len(node.args) == 2
        and not node.kwargs
        and all(isinstance(arg, Node) and arg.op != "get_attr" for arg in node.args)
        and all(_is_float(arg) for arg in node.args)
        and node.args[0] is not node.args[1]
        and node.args[0].meta["val"].shape == node.args[1].meta["val"].shape
    )


def _is_tensor_product(node: Node) -> bool:
    """Whether a multiplication is element by element, of two computed values of one shape."""
    return node.target in (_aten.mul.Tensor, _aten.mul_.Tensor) and _is_residual(node)


def _sole_user(node: Node) -> Node | None:
    users = list(node.users)
    return users[0] if len(users) == 1 else None


def _scale_of(node: Any) -> float | None:
    """The scale of a value that is dequantized; None if it is not, or has several."""
    per_tensor: Callable[..., Any] = torch.ops.quantized_decomposed.dequantize_per_tensor.default
    if not isinstance(node, Node) or node.target is not per_tensor:
        return None
    scale = node.args[1]
    return float(scale) if isinstance(scale, (int, float)) else None
