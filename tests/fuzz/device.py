"""Programs on a device whose memories hold anything at the start."""

from __future__ import annotations

import numpy as np

from npu_target.device_api import expand_program, run_stream
from npu_target.program import Program

_BASE, _PAGE_BYTES = 0x8000_0000, 4096


def run(program: Program, inputs: list[np.ndarray], unwritten: int, seed: int) -> np.ndarray:
    """The output of a program, which starts as `unwritten`; nothing else may change."""
    config, generator = program.config, np.random.default_rng(seed)
    output = program.args[-1]
    arrays = [*inputs, np.full(output.shape, unwritten, output.dtype)]
    offsets, end = [], 0
    for array in arrays:
        offsets.append(end)
        end += (array.nbytes // _PAGE_BYTES + 1) * _PAGE_BYTES
    memory = generator.integers(0, 256, end, np.uint8)
    for offset, array in zip(offsets, arrays, strict=True):
        memory[offset : offset + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
    spad = generator.integers(-128, 128, config.spad_rows * config.dim, np.int8)
    acc = generator.integers(-(2**31), 2**31, config.acc_rows * config.dim, np.int32)
    stream = expand_program(program.to_bytes(), [_BASE + offset for offset in offsets])
    memories = {"spad": spad.tobytes(), "acc": acc.tobytes()}
    result = run_stream(config, stream, _BASE, memory.tobytes(), memories)
    after = np.frombuffer(result.memory, np.uint8).copy()
    mine = slice(offsets[-1], offsets[-1] + arrays[-1].nbytes)
    found = np.frombuffer(after[mine].tobytes(), output.dtype).reshape(output.shape)
    after[mine] = memory[mine]
    np.testing.assert_array_equal(after, memory, "written outside of the output")
    return found
