"""Expanding a program into the device's command stream, by the C++ expander."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from ..device.commands import WORD_MASK
from .expr import ProgramError
from .program import Program

_EXPANDER = "npu.program.expand"
_TRIPLE = struct.Struct("<3Q")


def argument_addresses(program: Program, addresses: Mapping[str, int]) -> list[int]:
    """The addresses in the order of the places.

    Raises ProgramError for missing, unknown, impossible ones.
    """
    names = [place.name for place in program.places]
    known = f"program {program.name} has the arguments {', '.join(names) or '(none)'}"
    missing = [name for name in names if name not in addresses]
    if missing:
        raise ProgramError(f"no address for {', '.join(missing)}; {known}")
    unknown = [name for name in addresses if name not in names]
    if unknown:
        raise ProgramError(f"no argument is called {', '.join(unknown)}; {known}")
    for place, alignment in zip(program.places, program.alignments, strict=True):
        name, address = place.name, addresses[place.name]
        if address % alignment:
            raise ProgramError(f"{name} at {address:#x}: needs a multiple of {alignment} bytes")
        if not 0 <= address <= WORD_MASK + 1 - place.nbytes:
            raise ProgramError(
                f"{name} at {address:#x}: its {place.nbytes} bytes need 64-bit addresses"
            )
    return [addresses[name] for name in names]


def expand_program(
    program: Program, addresses: Mapping[str, int], limit: int | None = None
) -> list[tuple[int, int, int]]:
    ordered = argument_addresses(program, addresses)
    # TVM runs the entry point that loads the device library; it is imported here because
    # building and reading programs needs neither.
    import tvm

    expander = tvm.get_global_func(_EXPANDER, allow_missing=True)
    if expander is None:
        raise ProgramError(
            f"the device library, which has {_EXPANDER}, is not loaded; "
            "install npu_target beside TVM (`pip install .` in its checkout)"
        )
    try:
        stream = bytes(expander(program.to_bytes(), [_signed(address) for address in ordered]))
    except RuntimeError as error:
        raise ProgramError(f"program {program.name}: {error}") from error
    if limit is not None:
        stream = stream[: limit * _TRIPLE.size]
    return [(funct, rs1, rs2) for funct, rs1, rs2 in _TRIPLE.iter_unpack(stream)]


def _signed(address: int) -> int:
    """An address as the int64 that TVM passes it in."""
    return address - 2**64 if address >= 2**63 else address
