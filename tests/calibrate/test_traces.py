"""Streams that were measured on the RTL as the judge: a config that is off, fitted to some of them,
is right for the others."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.timing_report import default_traces
from npu_target.calibrate.fit import Fitter
from npu_target.calibrate.problem import Predict, Problem
from npu_target.device import DeviceConfig, preset
from npu_target.device_api.profile import profile_stream
from npu_target.sim.run import RAM_ADDRESS, RAM_BYTES
from npu_target.sim.stream import pack, read_stream

TRACES = default_traces()
DEFAULT = preset("gemmini-16x16")
MEMORY = "ddr3"
# Those that the streams may decide; the host is no part of them.
FIELDS = (
    "l2_hit_latency_cycles",
    "memory_latency_cycles",
    "memory_bytes_per_kilocycle",
    "memory_write_pause_cycles",
    "acc_scale_latency_cycles",
    "dram_activate_clocks",
)
_SETTLING_RUNS = 3

needs_traces = pytest.mark.skipif(not TRACES.is_file(), reason=f"no {TRACES}")


@dataclass(frozen=True)
class Stream:
    """A stream with its last, warm run, or of those measured once the first."""

    group: str
    setup: bytes
    commands: bytes
    runs: int
    measured: int


def streams() -> list[Stream]:
    found = []
    for line in TRACES.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        measured = record["cycles"].get(MEMORY)
        if not measured:
            continue
        stream = read_stream(TRACES, record["name"], DEFAULT)
        is_warm = record["group"] == "micro" and "cold" not in record["name"]
        runs = _SETTLING_RUNS if is_warm else len(measured)
        packed = pack(stream.setup), pack(stream.issues)
        found.append(Stream(record["group"], *packed, runs, measured[-1]))
    return found


def predicted(some: list[Stream]) -> Predict:
    def cycles(config: DeviceConfig) -> np.ndarray:
        ram = RAM_ADDRESS, RAM_BYTES
        runs = [profile_stream(config, ram, s.setup, s.commands, s.runs) for s in some]
        return np.array([float(profiles[-1].cycles) for profiles in runs])

    return cycles


@needs_traces
@pytest.mark.slow
def test_values_that_are_off_come_back() -> None:
    every = streams()
    alone = [stream for stream in every if stream.group in ("micro", "memory")]
    used, others = alone[::2], [s for s in every if s.group not in ("micro", "memory")]
    others += alone[1::2]
    start = DEFAULT.replace(name="off", l2_hit_latency_cycles=20, memory_bytes_per_kilocycle=5_000)
    problem = Problem(predicted(used), np.array([stream.measured for stream in used]))
    fitted = Fitter(problem, start, FIELDS).fit()
    check = Problem(predicted(others), np.array([stream.measured for stream in others]))
    errors = [
        float(np.mean(np.abs(check.errors(config))))
        for config in (start, start.replace(**fitted.values), DEFAULT)
    ]
    print(dict(fitted.values), [f"{100 * error:.2f} %" for error in errors])
    assert fitted.values["l2_hit_latency_cycles"] == pytest.approx(11, abs=1)
    assert fitted.values["memory_bytes_per_kilocycle"] == pytest.approx(8_000, rel=0.02)
    # As near as the committed config, of which nobody told it.
    assert errors[1] < errors[2] + 0.002 < errors[0]
