"""Networks: loaded, partitioned, ready to be tuned and built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tvm.ir import IRModule

from ..build import compile_network
from ..built_file import Built
from ..device import DEFAULT_DEVICE, DeviceConfig
from ..export.errors import ExportError
from ..files import check_name
from ..frontend import TensorInfo
from ..models import Model
from ..numerics import NumericsOptions
from ..partition.partitioner import Decision, Lowering, Partitioned
from ..pipeline_options import DEFAULT as DEFAULT_PIPELINE
from ..pipeline_options import PipelineOptions
from ..tuning.errors import TuningError
from ..tuning.models import check_model, inputs_of, load_model, model_name
from ..tuning.network import Network, network_of
from ..tuning.report import LayerResult
from ..tuning.routes import BESIDE
from ..whole_network import time_of, with_sequence
from .arguments import check_seed, device_of, numerics_of, paths_of
from .built import BuiltNetwork
from .layers import Layers
from .tunable import Tunable


@dataclass(frozen=True)
class LoadedModel(Tunable):
    """A network, quantized and partitioned for a device.

    Attributes
    ----------
    network : what it is made of.
    """

    network: Network

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """What it takes: names, shapes, dtypes, and what integers are worth."""
        return inputs_of(self.network.model)

    @property
    def operations(self) -> tuple[Decision, ...]:
        """Where each operation runs (`where`: "device" or "host") and why (`reason`)."""
        return self.network.partitioned.decisions

    def build(
        self,
        *,
        logs: str | Path | None = None,
        own_logs_only: bool = False,
        require_tuned: bool = False,
        routes: str = BESIDE,
        pipeline: str | PipelineOptions = DEFAULT_PIPELINE,
        runner: str = "",
    ) -> BuiltNetwork:
        """Compile it, with the schedules that tuning found; nothing is tuned. Parameters and errors
        are those of `layers`."""
        chooser = self._chooser(logs, own_logs_only, require_tuned, routes, pipeline, runner)
        results = self._results(chooser)
        partitioned = self.network.with_kernels(chooser.device_function)
        built = Built(self.name, self.config.name, self.inputs)
        layers = self._timed(results, partitioned)
        return BuiltNetwork(compile_network(partitioned.mod), built, layers)

    def _layers(self, results: Sequence[LayerResult], lower: Lowering) -> Layers:
        return self._timed(results, self.network.with_kernels(lower))

    def _timed(self, results: Sequence[LayerResult], partitioned: Partitioned) -> Layers:
        try:
            time = time_of(self.name, self.config, partitioned)
        except ExportError:
            return Layers(self.config, results)
        return Layers(self.config, with_sequence(results, time, partitioned), time)


def load(
    model: str | Path | IRModule,
    device: str | Path | DeviceConfig = DEFAULT_DEVICE,
    *,
    name: str = "network",
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    weights: str | Path | None = None,
    seed: int = 0,
    calibrate: str | Path | Sequence[str | Path] = (),
    numerics: str | NumericsOptions | None = None,
    all_on_device: bool = False,
) -> LoadedModel:
    """Load a network, quantize it unless it comes quantized, and partition it for a device.

    Parameters
    ----------
    model : a name, such as `resnet18`; a `.tflite`, `.onnx` or `.pt2` file; or a Relax module in
        float32 whose function `main` takes and gives tensors, images as NHWC, constants inside.
    device : a preset's name, a file that `DeviceConfig.save` wrote, or a config.
    name : of a module; logs are kept under it. Others have their own.
    shapes : of inputs that a file leaves open, by name.
    weights : a file of weights for a model with a name; without one they are drawn from `seed`.
    calibrate : inputs to quantize a network in float with, one or several of folders, `.npy` or
        `.npz` files; without any they are drawn from `seed`, for which cycles are right and outputs
        are not.
    numerics : by which numbers to compute a network that comes quantized, `exact` (the default) or
        `fast`, or :class:`npu_target.numerics.NumericsOptions` to choose by layer.
    all_on_device : whether it is an error that the host computes something.

    Raises
    ------
    FrontendError, ModelError, InputsError, NumericsError, TuningError, ConfigError, GraphError,
    ArgumentError
        for what is not there, cannot be read, or does not fit.
    """
    config = device_of(device)
    check_seed(seed)
    chosen = numerics_of(numerics)
    if isinstance(model, IRModule):
        if weights is not None or shapes:
            raise TuningError("a module has its weights and its shapes inside")
        check_name("the model's name", name, TuningError)
        found = Model(name, model)
    else:
        check_model(str(model))
        name = model_name(str(model))
        given = None if weights is None else Path(weights)
        found = load_model(str(model), given, seed, shapes)
    paths = paths_of(calibrate)
    network = network_of(found, config, seed, paths, chosen, all_on_device)
    return LoadedModel(name, config, network.layers, network)
