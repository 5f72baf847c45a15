"""A RISC-V core (RV64IM, as C compilers use it for integers) that counts what it executes, and
kernels on it: which commands they issue, and with how many instructions.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from npu_target.program import Program
from npu_target.program.c import header_text, kernel_name, kernel_source

COMPILER = shutil.which("riscv64-unknown-elf-gcc")
_PLAIN = ("-march=rv64im", "-mabi=lp64")
_WITH_SHORT_INSTRUCTIONS = ("-march=rv64gc", "-mabi=lp64d")  # as exports are compiled
_OPTIONS = ("-O2", "-mcmodel=medany", "-ffreestanding", "-nostdlib")
# Programs that are drawn may compare a value with itself.
_WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-tautological-compare")
_MASK = 2**64 - 1
_CODE, _STACK, _MEMORY_BYTES = 0x10000, 0x400000, 0x400000
_EXIT = 0xDEAD0000

Operation = Callable[[list[int]], "int | None"]  # changes registers; the next place, if another


def _signed(value: int, bits: int = 64) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _divided(a: int, b: int) -> int:
    if b == 0:
        return -1
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a if b == 0 else a - b * _divided(a, b)


# By funct7 and funct3; of words as unsigned numbers.
_REGISTER_OPERATIONS: dict[tuple[int, int], Callable[[int, int], int]] = {
    (0x00, 0): lambda a, b: a + b,
    (0x20, 0): lambda a, b: a - b,
    (0x00, 1): lambda a, b: a << (b & 63),
    (0x00, 2): lambda a, b: _signed(a) < _signed(b),
    (0x00, 3): lambda a, b: a < b,
    (0x00, 4): lambda a, b: a ^ b,
    (0x00, 5): lambda a, b: a >> (b & 63),
    (0x20, 5): lambda a, b: _signed(a) >> (b & 63),
    (0x00, 6): lambda a, b: a | b,
    (0x00, 7): lambda a, b: a & b,
    (0x01, 0): lambda a, b: a * b,
    (0x01, 1): lambda a, b: _signed(a) * _signed(b) >> 64,
    (0x01, 2): lambda a, b: _signed(a) * b >> 64,
    (0x01, 3): lambda a, b: a * b >> 64,
    (0x01, 4): lambda a, b: _divided(_signed(a), _signed(b)),
    (0x01, 5): lambda a, b: a // b if b else -1,
    (0x01, 6): lambda a, b: _remainder(_signed(a), _signed(b)),
    (0x01, 7): lambda a, b: a % b if b else a,
}
_BRANCHES: dict[int, Callable[[int, int], bool]] = {
    0: lambda a, b: a == b,
    1: lambda a, b: a != b,
    4: lambda a, b: _signed(a) < _signed(b),
    5: lambda a, b: _signed(a) >= _signed(b),
    6: lambda a, b: a < b,
    7: lambda a, b: a >= b,
}


@dataclass
class Machine:
    """`commands` are those issued, (funct, rs1, rs2); `instructions` counts all executed."""

    memory: bytearray = field(default_factory=lambda: bytearray(_MEMORY_BYTES))
    commands: list[tuple[int, int, int]] = field(default_factory=list)
    instructions: int = 0
    _decoded: dict[int, Operation] = field(default_factory=dict)

    def call(self, place: int, arguments: list[int]) -> None:
        """Run the function there until it returns."""
        assert len(arguments) <= 8
        x = [0] * 33  # the last one takes what is written to x0
        x[1], x[2] = _EXIT, _STACK
        x[10 : 10 + len(arguments)] = arguments
        decoded = self._decoded
        while place != _EXIT:
            operation = decoded.get(place)
            if operation is None:
                operation = decoded[place] = self._decode(place)
            following = operation(x)
            place = place + 4 if following is None else following
            self.instructions += 1

    def _decode(self, place: int) -> Operation:
        word = int.from_bytes(self.memory[place : place + 4], "little")
        opcode, funct3, funct7 = word & 0x7F, word >> 12 & 7, word >> 25
        rd, rs1, rs2 = (word >> 7 & 31) or 32, word >> 15 & 31, word >> 20 & 31
        immediate = _signed(word >> 20, 12)
        if opcode == 0x7B:
            return lambda x: self.commands.append((funct7, x[rs1], x[rs2]))
        if opcode in (0x33, 0x3B):
            function = _REGISTER_OPERATIONS[funct7, funct3]
            return _compute(function, rd, rs1, lambda x: x[rs2], is_word=opcode == 0x3B)
        if opcode in (0x13, 0x1B):
            key = (0, funct3)
            if funct3 == 5:
                key, immediate = (funct7 & 0x20, 5), immediate & 63
            operand = immediate & _MASK
            function = _REGISTER_OPERATIONS[key]
            return _compute(function, rd, rs1, lambda x: operand, is_word=opcode == 0x1B)
        if opcode in (0x37, 0x17):
            value = (_signed(word & 0xFFFFF000, 32) + (place if opcode == 0x17 else 0)) & _MASK
            return lambda x: x.__setitem__(rd, value)
        if opcode == 0x63:
            offset = _signed(
                word >> 31 << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 63) << 5
                | (word >> 8 & 15) << 1, 13
            )  # fmt: skip
            taken = _BRANCHES[funct3]
            return lambda x: place + offset if taken(x[rs1], x[rs2]) else None
        if opcode == 0x6F:
            offset = _signed(
                word >> 31 << 20 | (word >> 12 & 255) << 12 | (word >> 20 & 1) << 11
                | (word >> 21 & 1023) << 1, 21
            )  # fmt: skip
            return self._jump(rd, place, lambda x: place + offset)
        if opcode == 0x67:
            return self._jump(rd, place, lambda x: x[rs1] + immediate)
        if opcode == 0x03:
            return self._load(rd, rs1, immediate, funct3)
        if opcode == 0x23:
            return self._store(rs1, rs2, _signed(funct7 << 5 | word >> 7 & 31, 12), funct3)
        raise AssertionError(f"{word:#010x} at {place:#x} is no instruction known here")

    @staticmethod
    def _jump(rd: int, place: int, target: Callable[[list[int]], int]) -> Operation:
        def run(x: list[int]) -> int:
            goes_to = target(x) & _MASK
            x[rd] = place + 4
            return goes_to

        return run

    def _load(self, rd: int, rs1: int, offset: int, funct3: int) -> Operation:
        size = 1 << (funct3 & 3)

        def run(x: list[int]) -> None:
            at = x[rs1] + offset & _MASK
            value = int.from_bytes(self.memory[at : at + size], "little")
            x[rd] = (value if funct3 & 4 else _signed(value, 8 * size)) & _MASK

        return run

    def _store(self, rs1: int, rs2: int, offset: int, funct3: int) -> Operation:
        size = 1 << funct3

        def run(x: list[int]) -> None:
            at = x[rs1] + offset & _MASK
            data = (x[rs2] & (1 << 8 * size) - 1).to_bytes(size, "little")
            self.memory[at : at + size] = data

        return run


def _compute(
    function: Callable[[int, int], int],
    rd: int,
    rs1: int,
    operand: Callable[[list[int]], int],
    is_word: bool,
) -> Operation:
    def run(x: list[int]) -> None:
        x[rd] = function(x[rs1], operand(x)) & _MASK

    def run_word(x: list[int]) -> None:
        a, b = _signed(x[rs1], 32) & _MASK, operand(x)
        if function is _REGISTER_OPERATIONS[0, 5]:
            a &= 0xFFFFFFFF
        if function in (_REGISTER_OPERATIONS[0, 1], _REGISTER_OPERATIONS[0, 5],
                        _REGISTER_OPERATIONS[0x20, 5]):  # fmt: skip
            b &= 31
        x[rd] = _signed(function(a, b), 32) & _MASK

    return run_word if is_word else run


def run_kernel(program: Program, addresses: Mapping[str, int], folder: Path) -> Machine:
    """Compile the program's C code in `folder` and run it with its arguments at these addresses."""
    place = [f"-Wl,-Ttext={_CODE:#x}", f"-Wl,-e,{kernel_name(program)}", "-Wl,--build-id=none"]
    image = _compiled(program, folder, *_PLAIN, *place)
    machine = Machine()
    machine.memory[_CODE : _CODE + len(image)] = image
    machine.call(_CODE, [addresses[arg.name] for arg in program.args])
    return machine


def code_bytes(program: Program, folder: Path) -> int:
    """Bytes of the program's machine code, as exports are compiled; without its tables."""
    return len(
        _compiled(program, folder, *_WITH_SHORT_INSTRUCTIONS, "-c", sections=("-j", ".text"))
    )


def _compiled(
    program: Program, folder: Path, *options: str, sections: tuple[str, ...] = ()
) -> bytes:
    (folder / "npu.h").write_text(header_text(), encoding="utf-8")
    (folder / "kernel.c").write_text(kernel_source(program), encoding="utf-8")
    assert COMPILER is not None

    def run(tool: str, *command: str) -> None:
        subprocess.run([tool, *command], cwd=folder, check=True)

    run(COMPILER, *_OPTIONS, *_WARNINGS, *options, "kernel.c", "-o", "kernel.elf")
    run(COMPILER.replace("gcc", "objcopy"), "-O", "binary", *sections, "kernel.elf", "kernel.bin")
    return (folder / "kernel.bin").read_bytes()
