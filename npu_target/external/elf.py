"""A program and its arguments as an ELF for the device's own host, which runs it once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..device import DeviceConfig
from ..program import Program
from ..program.addresses import PAGE_BYTES, default_addresses, whole_pages
from ..program.c import constant_names, kernel_name, kernel_source
from ..user_cache import user_cache
from .errors import ElfError
from .objects import common_object
from .toolchain import BAREMETAL, EMULATED, Toolchain

_ELF, _INPUTS = "kernel.elf", "inputs.bin"
_COMPILE_SECONDS = 600.0


@dataclass(frozen=True)
class Elf:
    """What a command is started with: the ELF, and the file of inputs, which has the bytes of all
    arguments, each at its place in memory. `output_bytes` are of all outputs."""

    path: Path
    inputs: Path
    output_bytes: int


class ElfBuilder:
    """Makes ELFs of programs for one device.

    What they have in common is kept in `cache` (None: the user's folder for such things) and is
    made there when it is first needed, which takes some ten seconds where the simulator is a part.
    Raises ElfError for a compiler that is not there.
    """

    def __init__(
        self, config: DeviceConfig, toolchain: Toolchain, cache: Path | None = None
    ) -> None:
        self.config = config
        self.toolchain = toolchain
        self._cache = user_cache() if cache is None else cache
        self._common: Path | None = None
        toolchain.check()

    def prepare(self) -> Path:
        """Make what all ELFs have in common now: a folder. Raises ElfError."""
        if self._common is None:
            self._common = common_object(self.config, self.toolchain, self._cache)
        return self._common

    def build(
        self,
        program: Program,
        arrays: Sequence[np.ndarray],
        folder: Path,
        prints_outputs: bool = True,
        timeout_seconds: float = _COMPILE_SECONDS,
    ) -> Elf:
        """Write the ELF and the file of inputs into `folder`.

        arrays : one for each argument, of its dtype and as many elements; an output's is what its
            memory holds before.
        prints_outputs : whether outputs go to the console where no file is named for them.

        Raises ElfError where the compiler refuses, for instance since memory does not suffice.
        """
        common = self.prepare()
        places = _offsets(program)
        (folder / _INPUTS).write_bytes(_image(program, arrays, places))
        (folder / "kernel.c").write_text(kernel_source(program))
        (folder / "call.c").write_text(_call(program, places, prints_outputs, self.toolchain))
        sources = ["kernel.c", "call.c"]
        if self.toolchain.flavour in (BAREMETAL, EMULATED):
            (folder / "data.S").write_text(_data(program, places, self.toolchain.flavour))
            sources.append("data.S")
        if self.toolchain.flavour == EMULATED:
            (folder / "program.npu").write_bytes(program.to_bytes())
        objects = [f"-I{common}", *sources, str(common / "common.o")]
        chain = self.toolchain
        flags = [*chain.c_flags, *chain.link_flags(common)]
        # The simulator needs the library of C++, which links C alike.
        link = chain.cxx_link if chain.flavour == EMULATED else chain.c
        link([*flags, *objects, "-o", _ELF], folder, timeout_seconds)
        outputs = sum(arg.nbytes for arg in program.args if arg.role == "output")
        return Elf(folder / _ELF, folder / _INPUTS, outputs)


def _offsets(program: Program) -> list[int]:
    """Where a program's arguments lie from the first one on."""
    addresses = default_addresses(program, first=0)
    return [addresses[arg.name] for arg in program.args]


def _memory_bytes(program: Program, places: Sequence[int]) -> int:
    if not places:
        return PAGE_BYTES
    return places[-1] + whole_pages(program.args[-1].nbytes)


def _alignment(program: Program) -> int:
    return max((PAGE_BYTES, *program.alignments))


def _image(program: Program, arrays: Sequence[np.ndarray], places: Sequence[int]) -> bytes:
    image = bytearray(_memory_bytes(program, places))
    for arg, array, place in zip(program.args, arrays, places, strict=True):
        if str(array.dtype) != arg.dtype or array.nbytes != arg.nbytes:
            raise ElfError(
                f"program {program.name}: {arg.name} needs {arg.dtype}{list(arg.shape)}, has "
                f"{array.dtype}{list(array.shape)}"
            )
        image[place : place + array.nbytes] = array.tobytes()
    return bytes(image)


def _call(
    program: Program, places: Sequence[int], prints_outputs: bool, toolchain: Toolchain
) -> str:
    kernel, n_bytes = kernel_name(program), _memory_bytes(program, places)
    constants = constant_names(program)
    types = ["const void *" if arg.role == "input" else "void *" for arg in program.args]
    table = "".join(
        f"  {{{place}, {arg.nbytes}, {int(arg.role == 'output')}}},\n"
        for arg, place in zip(program.args, places, strict=True)
    )
    lines = [
        '#include "run.h"',
        "",
        f"void {kernel}({', '.join(types) or 'void'});",
        "",
        f"const npu_argument npu_arguments[] = {{\n{table}}};",
        f"const unsigned npu_argument_count = {len(places)};",
        *(f"extern const uint8_t {name}[];" for name in constants),
        f"const unsigned char* const npu_constants[] = {{{', '.join(constants) or 'NULL'}}};",
        f"const unsigned npu_constant_count = {len(constants)};",
        f"const size_t npu_memory_bytes = {n_bytes};",
        f"const int npu_prints_outputs = {int(prints_outputs)};",
    ]
    if toolchain.flavour != BAREMETAL:
        lines.append(
            f"unsigned char npu_memory[{n_bytes}] __attribute__((aligned({_alignment(program)})));"
        )
    arguments = ", ".join(f"npu_memory + {place}" for place in places)
    lines += ["", f"void npu_call(void) {{ {kernel}({arguments}); }}", ""]
    return "\n".join(lines)


def _data(program: Program, places: Sequence[int], flavour: str) -> str:
    """Files inside of the ELF: for a core without an operating system its memory, with a name and a
    size for each output, by which a dump of memory finds it; for an emulated one the program."""
    if flavour == EMULATED:
        return (
            "  .section .rodata\n  .balign 64\n"
            "  .globl npu_program, npu_program_bytes\n"
            'npu_program:\n  .incbin "program.npu"\n'
            "  .balign 8\nnpu_program_bytes:\n"
            f"  .quad {len(program.to_bytes())}\n"
            '  .section .note.GNU-stack, "", %progbits\n'
        )
    outputs = [
        (place, arg.nbytes)
        for arg, place in zip(program.args, places, strict=True)
        if arg.role == "output"
    ]
    names = "".join(
        f"  .globl npu_output{index}\n  .set npu_output{index}, npu_memory + {place}\n"
        f"  .type npu_output{index}, %object\n  .size npu_output{index}, {n_bytes}\n"
        for index, (place, n_bytes) in enumerate(outputs)
    )
    return (
        '  .section .npu_memory, "aw", %progbits\n'
        f"  .balign {_alignment(program)}\n"
        f'  .globl npu_memory\nnpu_memory:\n  .incbin "{_INPUTS}"\n{names}'
    )
