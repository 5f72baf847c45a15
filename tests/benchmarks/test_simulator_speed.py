"""The benchmark of the simulator, on a small program."""

from __future__ import annotations

from benchmarks.simulator_speed import layer_program, machine, markdown, measure
from npu_target.device import preset
from npu_target.device_api import create_module, last_stats
from npu_target.program import Program


def test_a_small_layer_is_measured() -> None:
    import numpy as np
    import tvm

    program = layer_program(6, 16, 1, preset("gemmini-16x16"))
    speed = measure("small", program, repeats=3)
    tensors = [
        tvm.runtime.tensor(np.ones(arg.shape, arg.dtype))
        for arg in Program.from_bytes(program).args
    ]
    create_module({"main": program})["main"](*tensors)
    stats = last_stats()
    assert stats is not None
    assert (speed.cycles, speed.macs, speed.commands) == (stats.cycles, stats.macs, stats.commands)
    assert len(speed.together_seconds) == len(speed.alone_seconds) == 3
    assert sum(speed.alone_seconds) > 0 and speed.memory_bytes < 200_000_000
    text = markdown([speed], [speed], machine())
    assert f"| small | {speed.commands:,} | {speed.cycles:,} |" in text
    assert "| memory at most, MB | 200 |" in text
