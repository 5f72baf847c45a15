"""From a model's name, or its file, to the operators that the device runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from tvm.tirx import PrimFunc

from ..codegen_tir import build_program
from ..device import DeviceConfig, kind_of
from ..inputs import read_inputs
from ..models import Model
from ..numerics import Decided, NumericsOptions, check_all_on_device, decide
from ..numerics.scale_widths import Cycles
from ..partition import Partitioned, partition
from ..partition.partitioner import Lowering
from ..quantize import Quantized, quantize
from ..schedule_rules import default_schedule
from ..topi import Operator, operators
from .choose import cycles_of
from .chosen_defaults import choose_defaults_together
from .errors import TuningError
from .layers import Layer, layers_of
from .models import FileModel, asked_model, inputs_of, load_model
from .workload import workload_module

CALIBRATION_SAMPLES = 8
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Network:
    """A model on its way to a device. The kernels in `partitioned` only stand for layers."""

    model: Model
    config: DeviceConfig
    quantized: Quantized
    partitioned: Partitioned
    # By which numbers, of a network that came quantized.
    decided: Decided | None = None

    @property
    def layers(self) -> list[Layer]:
        """What the device runs, equal operators once."""
        return layers_of(region.operator for region in self.partitioned.regions)

    def with_kernels(self, lower: Lowering) -> Partitioned:
        """Partitioned anew, with the kernels that `lower` makes."""
        if self.decided is None:
            return partition(self.quantized.mod, self.config, lower)
        return _partition(self.decided, self.config, lower)


def load_network(
    model: str,
    config: DeviceConfig,
    weights: Path | None = None,
    seed: int = 0,
    calibrate: Sequence[Path] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    numerics: NumericsOptions | None = None,
    all_on_device: bool = False,
    progress: Progress = lambda text: None,
) -> Network:
    """Quantize, unless it comes quantized, and partition a model for a device.

    model : a name that :func:`npu_target.models.get_model` knows, or a file of a network.
    weights : a file as `get_model` takes it; without one the weights are drawn from `seed`. A
        network from a file has its own.
    shapes : of inputs by name, which a file leaves open.

    The others, and errors besides ModelError and FrontendError, are those of `network_of`.
    """
    progress(f"loading {model}")
    loaded = load_model(model, weights, seed, shapes)
    return network_of(loaded, config, seed, calibrate, numerics, all_on_device, progress)


def network_of(
    model: Model,
    config: DeviceConfig,
    seed: int = 0,
    calibrate: Sequence[Path] = (),
    numerics: NumericsOptions | None = None,
    all_on_device: bool = False,
    progress: Progress = lambda text: None,
) -> Network:
    """Quantize, unless it comes quantized, and partition a model that is loaded.

    calibrate : files and folders with inputs to quantize with, as `read_inputs` takes them; without
        any these are drawn from `seed`.
    numerics : by which numbers to compute a network that comes quantized; the default is exactly.
    all_on_device : whether it is an error that the host computes something.
    progress : is called with what is being done.

    Raises TuningError, InputsError and NumericsError for what does not fit.
    """
    if isinstance(model, FileModel) and model.imported.integer:
        if calibrate:
            raise TuningError(f"{model.name} is quantized; --calibrate is for networks in float")
        network = _decided(model, config, numerics, progress)
    else:
        if numerics not in (None, NumericsOptions()):
            raise TuningError(
                f"{model.name} is in float, its numbers are the device's; --numerics, --host, "
                "--on-device and --exact are for networks that come quantized"
            )
        infos = inputs_of(model)
        inputs = _Joined([read_inputs(path, infos) for path in calibrate])
        samples = inputs or model.calibration_inputs(CALIBRATION_SAMPLES, seed)
        network = _quantized(model, config, samples, progress)
    if all_on_device:
        check_all_on_device(network.partitioned)
    return network


def on_device(
    network: Network,
    config: DeviceConfig,
    numerics: NumericsOptions | None = None,
    all_on_device: bool = False,
) -> Network:
    """A network that is loaded, and quantized if need be, for another device of its kind.

    Raises NumericsError as `network_of` does.
    """
    if isinstance(network.model, FileModel) and network.decided is not None:
        moved = _decided(network.model, config, numerics, lambda text: None)
    else:
        partitioned = partition(network.quantized.mod, config, _stand_in)
        moved = replace(network, config=config, partitioned=partitioned)
    if all_on_device:
        check_all_on_device(moved.partitioned)
    return moved


def decide_layers(
    model: FileModel, config: DeviceConfig, numerics: NumericsOptions | None = None
) -> Decided:
    """By which numbers a device computes a network that comes quantized.

    Raises NumericsError as `numerics.decide` does.
    """
    zero_points = {name: by.zero_point[0] for name, by in model.imported.quantizations.items()}
    return decide(model.mod, config, numerics, zero_points, _default_cycles(config))


def _default_cycles(config: DeviceConfig) -> Cycles:
    """Those of default schedules: what a network computes does not depend on its logs."""

    @cache
    def of_canonical(operator: Operator) -> int:
        choose_defaults_together([operator], config)
        schedule = default_schedule(operator, config)
        return cycles_of(build_program(schedule.mod["main"], config, operator.name))

    return lambda operator: of_canonical(operator.canonical())


def _decided(
    model: FileModel, config: DeviceConfig, numerics: NumericsOptions | None, progress: Progress
) -> Network:
    quantizations = model.imported.quantizations
    progress("comparing its numbers with the device's")
    decided = decide_layers(model, config, numerics)
    scales = {name: by.scale[0] for name, by in quantizations.items() if len(by.scale) == 1}
    progress("partitioning")
    partitioned = _partition(decided, config, _stand_in)
    return Network(model, config, Quantized(decided.mod, {}, scales), partitioned, decided)


def _quantized(
    model: Model,
    config: DeviceConfig,
    inputs: Sequence[np.ndarray | Sequence[np.ndarray]],
    progress: Progress,
) -> Network:
    rule, count = kind_of(config).numbers.rule, len(inputs)
    quantized = quantize(
        model.mod,
        inputs,
        rule=rule,
        progress=lambda done: progress(f"calibrating: input {done + 1} of {count}"),
    )
    progress("partitioning")
    return Network(model, config, quantized, partition(quantized.mod, config, _stand_in))


def _partition(decided: Decided, config: DeviceConfig, lower: Lowering) -> Partitioned:
    said = decided.reasons, decided.remarks
    return partition(decided.mod, config, lower, decided.host, *said)


def asked_numerics(options: argparse.Namespace) -> NumericsOptions:
    """By which numbers, as the options of `cli.options.add_model_options` say.

    Raises NumericsError for a layer that two things are asked of.
    """
    return NumericsOptions(
        options.numerics,
        frozenset(options.host),
        frozenset(options.on_device),
        frozenset(options.exact),
    )


def asked_network(
    options: argparse.Namespace,
    config: DeviceConfig,
    progress: Progress,
    model: Model | None = None,
) -> Network:
    """The network that the options of `cli.options.add_model_options` name, of `model` where
    that is loaded.

    Raises as `load_network`.
    """
    if model is None:
        progress(f"loading {options.model}")
    return network_of(
        model or asked_model(options),
        config,
        options.weights_seed,
        options.calibrate,
        asked_numerics(options),
        options.all_on_device,
        progress,
    )


class _Joined(Sequence[Sequence[np.ndarray]]):
    """The samples of several places, read when they are asked for."""

    def __init__(self, parts: Sequence[Sequence[Sequence[np.ndarray]]]) -> None:
        self._places = [(part, index) for part in parts for index in range(len(part))]

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]  # of int or slice
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        part, at = self._places[index]
        return part[at]


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
