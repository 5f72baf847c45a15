"""Running a file that `npu-target build` wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tvm

from . import device_api  # noqa: F401  the device must be there before its programs load
from .built_file import again_with, read_built
from .host import run_host
from .tuning.errors import TuningError
from .tuning.failure import last_line

Network = Callable[[Sequence[np.ndarray]], list[np.ndarray]]


def load_built(path: Path) -> Network:
    """A compiled network as a function, from its inputs to its outputs.

    Raises BuiltFileError for a file that is none or is damaged, TuningError for one that cannot be
    loaded; the function raises TuningError for inputs that do not fit.
    """
    read_built(path)  # before it is loaded: a damaged library may end the process

    def failed(error: Exception) -> TuningError:
        return TuningError(f"{path} cannot be run: {last_line(error)}; {again_with(path)}")

    try:
        module = tvm.runtime.load_module(str(path.resolve()))
    except (RuntimeError, OSError, ValueError) as error:
        raise failed(error) from error

    def run(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        try:
            return run_host(module, *inputs)
        except (RuntimeError, OSError, ValueError, AttributeError) as error:
            raise failed(error) from error

    return run
