"""From a model's name to the operators that the device runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tvm.tirx import PrimFunc

from ..device import DeviceConfig, kind_of
from ..models import MODELS, Model, get_model
from ..partition import Partitioned, partition
from ..partition.partitioner import Lowering
from ..quantize import Quantized, quantize
from ..topi import Operator, operators
from .errors import TuningError
from .layers import Layer, layers_of
from .workload import workload_module

CALIBRATION_IMAGES = 8


@dataclass(frozen=True)
class Network:
    """A model on its way to a device. The kernels in `partitioned` only stand for layers."""

    model: Model
    config: DeviceConfig
    quantized: Quantized
    partitioned: Partitioned

    @property
    def layers(self) -> list[Layer]:
        """What the device runs, equal operators once."""
        return layers_of(region.operator for region in self.partitioned.regions)

    def with_kernels(self, lower: Lowering) -> Partitioned:
        """Partitioned anew, with the kernels that `lower` makes."""
        return partition(self.quantized.mod, self.config, lower)


def check_model(name: str) -> None:
    """Raise TuningError for an unknown model, before anything is loaded."""
    if name not in MODELS:
        raise TuningError(f"unknown model {name!r}; known models: {', '.join(sorted(MODELS))}")


def load_network(
    name: str,
    config: DeviceConfig,
    weights: Path | None = None,
    seed: int = 0,
    images: Sequence[Path] = (),
) -> Network:
    """Quantize and partition a model for a device.

    `weights` is a file as :func:`npu_target.models.get_model` takes it; without one the weights
    are drawn from `seed`. It is calibrated with `images`, or with synthetic ones from `seed`.
    Raises ModelError for an unknown model and for weights or images that do not fit.
    """
    model = get_model(name, weights, seed)
    inputs = [model.preprocess(image) for image in images]
    quantized = quantize(
        model.mod,
        inputs or model.calibration_inputs(CALIBRATION_IMAGES, seed),
        rule=kind_of(config).numbers.rule,
    )
    return Network(model, config, quantized, partition(quantized.mod, config, _stand_in))


def _stand_in(operator: Operator, config: DeviceConfig) -> PrimFunc:
    """A kernel of the right shape; for equal layers the same one, which takes time to make."""
    return workload_module(operator, config)["main"]


def check_ops(ops: str | None) -> list[str]:
    """The operators named in `ops`, separated by commas; none for None.

    Raises TuningError for one that does not exist.
    """
    wanted = [] if ops is None else [op.strip() for op in ops.split(",")]
    for op in wanted:
        if op not in operators():
            raise TuningError(f"unknown operator {op!r}; there are: {', '.join(operators())}")
    return wanted


def select_layers(layers: Sequence[Layer], ops: str | None) -> list[Layer]:
    """The layers whose operator is among `ops`, as `check_ops` takes them; all for None.

    Raises TuningError for an operator that does not exist or that no layer has.
    """
    if ops is None:
        return list(layers)
    wanted = check_ops(ops)
    for op in wanted:
        if not any(layer.operator.op == op for layer in layers):
            there = ", ".join(dict.fromkeys(layer.operator.op for layer in layers))
            raise TuningError(f"the model has no {op} on the device; it has: {there}")
    return [layer for layer in layers if layer.operator.op in wanted]
