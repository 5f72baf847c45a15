"""Damaged program files: every one is refused, or runs, or is refused while it runs."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterable

import numpy as np
import pytest
import tvm

from npu_target.codegen_tir import build_program
from npu_target.device import preset
from npu_target.device_api import create_module, set_limits, validate_program
from npu_target.program import Program
from npu_target.program.expr import ProgramError
from npu_target.schedule_rules import default_schedule
from npu_target.topi import Matmul

CONFIG = preset("gemmini-16x16")
HEAD_BYTES = 16  # magic, length and checksum of what follows


@pytest.fixture(scope="module")
def program() -> bytes:
    matmul = Matmul(1, 33, 40, 20, bias=True, relu=True, scale=0.01)
    schedule = default_schedule(matmul, CONFIG)
    return build_program(schedule.mod["main"], CONFIG, "matmul").to_bytes()


def sealed(payload: bytes) -> bytes:
    """A program file of this payload, with the length and the checksum that belong to it."""
    return b"NPUPROG\x03" + struct.pack("<II", len(payload), zlib.crc32(payload)) + payload


def damaged(payload: bytes, seed: int) -> bytes:
    chance = random.Random(seed)
    damaged = bytearray(payload)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(damaged))
        match chance.randrange(4):
            case 0:
                damaged[at] = chance.randrange(256)
            case 1:
                damaged[at] ^= 1 << chance.randrange(8)
            case 2:
                del damaged[at : at + chance.randint(1, 8)]
            case _:
                damaged[at:at] = chance.randbytes(chance.randint(1, 8))
    return bytes(damaged)


def run(file: bytes) -> str:
    """What became of it: refused, stopped or ran."""
    try:
        validate_program(file)
        args = Program.from_bytes(file).args
    except (RuntimeError, ProgramError) as error:
        assert "[bad_program]" in str(error) or isinstance(error, ProgramError)
        return "refused"
    if sum(arg.nbytes for arg in args) > 1 << 20:
        return "refused"
    try:
        module = create_module({"main": file})
        tensors = [tvm.runtime.tensor(np.ones(arg.shape, arg.dtype)) for arg in args]
        module["main"](*tensors)
    except (RuntimeError, TypeError) as error:
        assert not isinstance(error, RuntimeError) or "NpuDeviceError [" in str(error)
        return "stopped"
    return "ran"


def test_the_whole_file_runs(program: bytes) -> None:
    assert run(program) == "ran"
    assert sealed(program[HEAD_BYTES:]) == program


def test_every_truncated_file_is_refused(program: bytes) -> None:
    for length in range(0, len(program), 7):
        assert run(program[:length]) == "refused"
    assert run(program + b"\0") == "refused"


def test_flipped_bits_are_refused(program: bytes) -> None:
    chance = random.Random(1)
    for _ in range(300):
        flipped = bytearray(program)
        flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
        assert run(bytes(flipped)) == "refused"


def hostile(payload: bytes, seed: int) -> bytes:
    """The payload, with some numbers of its device as small or large as they may be, or more."""
    chance = random.Random(seed)
    hostile = bytearray(payload)
    for name in chance.sample(sorted(CONFIG.numbers()), chance.randint(1, 3)):
        at = payload.index(name.encode()) + len(name)
        value = 2 ** chance.choice([0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30, 31, 40, 63])
        value += chance.choice([-1, 0, 0, 0, 1])
        hostile[at : at + 8] = struct.pack("<q", min(value, 2**63 - 1))
    return bytes(hostile)


def outcomes(files: Iterable[bytes]) -> set[str]:
    set_limits(max_cycles=200_000)
    try:
        return {run(sealed(file)) for file in files}
    finally:
        set_limits()


def test_damage_under_a_right_checksum(program: bytes) -> None:
    payload = program[HEAD_BYTES:]
    found = outcomes(damaged(payload, seed) for seed in range(600))
    assert found == {"refused", "stopped", "ran"}


def test_hostile_devices(program: bytes) -> None:
    payload = program[HEAD_BYTES:]
    found = outcomes(hostile(payload, seed) for seed in range(300))
    assert found >= {"refused", "ran"}


@pytest.mark.slow
def test_hostile_files_at_length(program: bytes) -> None:
    payload = program[HEAD_BYTES:]
    found = outcomes(damaged(hostile(payload, seed), seed) for seed in range(10_000))
    found |= outcomes(damaged(payload, seed) for seed in range(1_000, 30_000))
    assert found == {"refused", "stopped", "ran"}
