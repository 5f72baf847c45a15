"""A program is run before it goes into a build: what it computes of random inputs is compared with
NumPy's answer, bit for bit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import tvm

from ..device import DeviceConfig, kind_of
from ..device_api import create_module, last_stats
from ..packing import Packing, packed
from ..program import Program
from ..topi import Operator
from .errors import RacesError, TuningError
from .expected import difference, expected_output, sample_inputs
from .failure import RACE, WRONG_RESULT, Failure

_SEED = 1


@dataclass(frozen=True)
class _Sample:
    """An operator's inputs by name, and its output for them."""

    inputs: Mapping[str, np.ndarray]
    expected: np.ndarray


class ProgramCheck:
    """Runs programs on this process's simulated device, each distinct one once."""

    def __init__(self, config: DeviceConfig) -> None:
        self._config = config
        self._samples: dict[Operator, _Sample] = {}
        # Of programs that are right, by their digests and layouts.
        self._cycles: dict[tuple[str, frozenset[tuple[str, Packing]]], int] = {}

    @property
    def n_checked(self) -> int:
        """How many distinct programs were run."""
        return len(self._cycles)

    def cycles(
        self,
        program: Program,
        operator: Operator,
        source: str,
        packings: Mapping[str, Packing] = MappingProxyType({}),
    ) -> int:
        """Simulated cycles of one run of a program that computes `operator`.

        `source` says where the schedule comes from, for the message; `packings` are the layouts
        of packed inputs, by name.

        Raises TuningError, with the kind of failure, for a program that the device refuses or
        whose output differs from NumPy's; of one that relies on an order that the device does not
        keep a RacesError.
        """
        data = program.to_bytes()
        key = hashlib.sha256(data).hexdigest(), frozenset(packings.items())
        if key not in self._cycles:
            failure = self._run(program.name, data, operator, packings)
            if failure is not None:
                kind = RacesError if failure.kind == RACE else TuningError
                raise kind(
                    f"{operator.name}: the program of its {source} schedule on "
                    f"{self._config.name} is wrong: {failure}; it is a bug of the compiler or of "
                    "the simulator, please report it; to build without the schedule, drop its "
                    "record from the logs, or build with other --logs"
                )
            stats = last_stats()
            assert stats is not None
            self._cycles[key] = stats.cycles
        return self._cycles[key]

    def _run(
        self, name: str, program: bytes, operator: Operator, packings: Mapping[str, Packing]
    ) -> Failure | None:
        """What is wrong with a program, if anything."""
        sample = self._sample(operator)
        laid_out = packed(sample.inputs, packings)
        inputs = [laid_out[arg.name] for arg in operator.args if arg.role == "input"]
        tensors = [tvm.runtime.tensor(array) for array in inputs]
        # An element that is left out must not be right by chance.
        output = tvm.runtime.tensor(np.invert(sample.expected))
        try:
            create_module({name: program})[name](*tensors, output)
        except RuntimeError as error:
            return Failure.of_device_error(error)
        text = difference(output.numpy(), sample.expected)
        return Failure(WRONG_RESULT, text) if text else None

    def _sample(self, operator: Operator) -> _Sample:
        if operator not in self._samples:
            inputs = sample_inputs(operator, _SEED)
            self._samples[operator] = _Sample(
                inputs, expected_output(operator, inputs, kind_of(self._config).numbers)
            )
        return self._samples[operator]
