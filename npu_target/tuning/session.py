"""Measuring over one RPC session. Runs in a worker process, which keeps the session."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm
from tvm import rpc

import npu_target
from rpc_server.functions import DESCRIBE, DIGEST, PACK, RUN, SET_DEADLINE
from rpc_server.tracker_client import Endpoint

from ..device import DeviceConfig, kind_of
from ..packing import Packing
from .expected import difference, expected_output, sample_inputs
from .failure import DEVICE_LOST, TIMED_OUT, WRONG_RESULT, Failure, last_line
from .function import Measurable

# Operators whose arrays a session keeps on the device.
_CACHED_OPERATORS = 8


class ServerMismatch(Exception):
    """A server of another device or of other versions than this process."""


@dataclass(frozen=True)
class Job:
    """One measurement: a program file (`name` is its function) and what it should compute.

    `seed` draws the inputs. The run ends with a failure past `timeout_seconds` of real time or
    `max_cycles` of simulated time (0: no limit). `packings` are the layouts of packed inputs, by
    name.
    """

    program: bytes
    name: str
    operator: Measurable
    seed: int
    timeout_seconds: float
    max_cycles: int = 0
    packings: Mapping[str, Packing] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """`seconds` of simulated time, or a failure; whether the session was lost over it."""

    seconds: float | None = None
    failure: Failure | None = None
    session_lost: bool = False


@dataclass
class _Arrays:
    """An operator's tensors on the device and what should come out; `poison`, also there, has no
    element of that. `packed` has the inputs that were packed last, by name, and their layouts."""

    inputs: dict[str, Any]
    packed: dict[str, tuple[Packing, Any]]
    output: Any
    poison: Any
    expected: np.ndarray
    expected_digest: str


class DeviceSession:
    """A session with one server: the device's tensors live as long as it does."""

    def __init__(self, endpoint: Endpoint, config: DeviceConfig, runner: str) -> None:
        """Connect. Raises RuntimeError when the server is gone, ServerMismatch when it serves
        another device or version, or measures by something else than `runner`."""
        self._numbers = kind_of(config).numbers
        self._session = rpc.connect(endpoint.host, endpoint.port, endpoint.matchkey)
        self._device = self._session.ext_dev(0)
        described = json.loads(str(self._session.get_function(DESCRIBE)()))
        wanted = {
            "hash": config.hash,
            "runner": runner,
            "npu_target": npu_target.__version__,
            "tvm": tvm.__version__,
        }
        for name, value in wanted.items():
            if described[name] != value:
                raise ServerMismatch(
                    f"the server at {endpoint.host}:{endpoint.port} has {name} "
                    f"{described[name] or 'none'}, needed {value or 'none'}; start it from the "
                    "same installation"
                )
        self._set_deadline = self._session.get_function(SET_DEADLINE)
        self._run = self._session.get_function(RUN)
        self._digest = self._session.get_function(DIGEST)
        self._pack = self._session.get_function(PACK)
        self._arrays: OrderedDict[tuple[Measurable, int], _Arrays] = OrderedDict()

    def is_alive(self) -> bool:
        """Whether the server still answers; takes back the deadline of a run that failed."""
        try:
            self._set_deadline(0.0)
        except (RuntimeError, OSError):
            return False
        return True

    def measure(self, job: Job) -> Outcome:
        """Run the job's program and compare its output, bit for bit, before its time counts.

        The server tells the output's SHA-256, and sends it where that is wrong: TVM's RPC takes
        a millisecond on both sides for 50 KiB of an array, whose bytes it copies one by one.
        """
        arrays = self._arrays_of(job.operator, job.seed)
        # What a candidate does not write must not look right because another one wrote it.
        arrays.poison.copyto(arrays.output)
        inputs = [self._laid_out(arrays, name, job.packings.get(name)) for name in arrays.inputs]
        seconds = self._run(
            job.program, job.name, job.max_cycles, job.timeout_seconds, *inputs, arrays.output
        )
        if str(self._digest(arrays.output)) == arrays.expected_digest:
            return Outcome(seconds)
        text = difference(arrays.output.numpy(), arrays.expected)
        return Outcome(failure=Failure(WRONG_RESULT, text))

    def _laid_out(self, arrays: _Arrays, name: str, packing: Packing | None) -> Any:
        """An input on the device as a program takes it. The server packs, since sending takes it
        much longer."""
        if packing is None:
            return arrays.inputs[name]
        known = arrays.packed.get(name)
        if known is None or known[0] != packing:
            source = arrays.inputs[name]
            target = tvm.runtime.empty(packing.packed_shape, source.dtype, self._device)
            self._pack(packing.to_json(), source, target)
            known = arrays.packed[name] = packing, target
        return known[1]

    def _arrays_of(self, operator: Measurable, seed: int) -> _Arrays:
        key = (operator, seed)
        if key in self._arrays:
            self._arrays.move_to_end(key)
            return self._arrays[key]
        inputs = sample_inputs(operator, seed)
        expected = expected_output(operator, inputs, self._numbers)
        output = tvm.runtime.empty(expected.shape, str(expected.dtype), self._device)
        sent = {
            arg.name: tvm.runtime.tensor(inputs[arg.name], self._device)
            for arg in operator.args[:-1]
        }
        poison = tvm.runtime.tensor(np.invert(expected), self._device)
        digest = hashlib.sha256(expected.tobytes()).hexdigest()
        arrays = _Arrays(sent, {}, output, poison, expected, digest)
        self._arrays[key] = arrays
        while len(self._arrays) > _CACHED_OPERATORS:
            self._arrays.popitem(last=False)
        return arrays


_session: DeviceSession | None = None


def connect(endpoint: Endpoint, config: DeviceConfig, runner: str) -> None:
    """Give this process a session with the server at `endpoint`, in place of the one it had.

    Raises as DeviceSession does.
    """
    global _session
    _session = None
    _session = DeviceSession(endpoint, config, runner)


def disconnect() -> None:
    """End the session, if there is one, so that its server is free for others."""
    global _session
    _session = None


def measure(job: Job) -> Outcome:
    """Measure over the session that `connect` made."""
    global _session
    if _session is None:
        raise RuntimeError("measure: needs a session, connect first")
    started = time.monotonic()
    try:
        return _session.measure(job)
    except (RuntimeError, OSError, ValueError) as error:
        if _session.is_alive():
            return Outcome(failure=Failure.of_device_error(error))
        _session = None
        failure = Failure(DEVICE_LOST, last_line(error))
        if time.monotonic() - started >= job.timeout_seconds:
            failure = Failure(TIMED_OUT, f"no result after {job.timeout_seconds:g} s")
        return Outcome(failure=failure, session_lost=True)
