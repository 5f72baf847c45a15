"""Compiled networks: in memory, or from the file that a build has written."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import tvm

from ..build import check_can_write_built, write_built
from ..built_file import Built, read_built
from ..export.times import NetworkTime
from ..files import write_atomically
from ..frontend import TensorInfo
from ..inputs import InputsError, read_inputs
from ..run import Network
from ..run import load_built as load_function
from .layers import Layers


class LoadedNetwork:
    """A compiled network that can be run.

    Attributes
    ----------
    model, device : the names of what it was built from and for.
    inputs : what it takes.
    """

    def __init__(self, function: Network, built: Built) -> None:
        self._function = function
        self.model = built.model
        self.device = built.device
        self.inputs: tuple[TensorInfo, ...] = built.inputs

    def run(self, *inputs: np.ndarray | str | Path) -> list[np.ndarray]:
        """Run it on the simulated device and this host.

        inputs : an array for each input, of its shape and dtype; or one path, of an image or of
            arrays, as `npu-target run --input` takes it.

        Returns the outputs. Raises InputsError for what does not fit.
        """
        if len(inputs) == 1 and isinstance(inputs[0], (str, Path)):
            samples = read_inputs(Path(inputs[0]), self.inputs)
            if len(samples) != 1:
                raise InputsError(f"{inputs[0]} has {len(samples)} samples, one is needed")
            return self._function(samples[0])
        if len(inputs) != len(self.inputs):
            names = ", ".join(info.name for info in self.inputs)
            raise InputsError(f"{len(inputs)} inputs are given; {self.model} takes: {names}")
        arrays = []
        for info, value in zip(self.inputs, inputs, strict=True):
            array = np.asarray(value)
            if array.shape != tuple(info.shape) or str(array.dtype) != info.dtype:
                raise InputsError(
                    f"input {info.name} must be {info.dtype} of shape {tuple(info.shape)}, is "
                    f"{array.dtype} of shape {array.shape}"
                )
            arrays.append(np.ascontiguousarray(array))
        return self._function(arrays)

    def __repr__(self) -> str:
        return f"<{self.model} built for {self.device}>"


class BuiltNetwork(LoadedNetwork):
    """A network that was just compiled.

    Attributes
    ----------
    layers : what each takes, by default and by the schedule that was taken.
    """

    def __init__(
        self,
        executable: tvm.runtime.Executable,
        built: Built,
        layers: Layers,
    ) -> None:
        self._folder = TemporaryDirectory(prefix="npu-built-")  # gone with this object
        self._file = Path(self._folder.name) / "network.so"
        write_built(executable, self._file, built)
        super().__init__(load_function(self._file), built)
        self.layers = layers

    @property
    def time(self) -> NetworkTime | None:
        """Of the whole network, as `Layers.time`."""
        return self.layers.time

    def save(self, path: str | Path) -> None:
        """Write it into a file for `load_built`, for `npu-target run`, and for any process that has
        TVM and this package. Raises WriteError for a place that cannot be written, TuningError for
        one that is no file's."""
        check_can_write_built(Path(path))
        write_atomically(path, self._file.read_bytes())


def load_built(path: str | Path) -> LoadedNetwork:
    """A network from the file that `BuiltNetwork.save` or `npu-target build` wrote.

    Raises BuiltFileError for a file that is none or is damaged, TuningError for one that cannot be
    loaded.
    """
    built = read_built(Path(path))
    return LoadedNetwork(load_function(Path(path)), built)
