"""A program as C: one function that issues its commands."""

from __future__ import annotations

import re
from importlib.resources import files

from ...device.commands import WORD_MASK
from ..program import Program
from ..text import Disassembly
from .kernel import Kernel
from .lines import CommandItem, Item, Line, Scope

_INDENT = "  "
_ROW_BYTES = 16  # of an array, in a line
_ROW_WORDS = 3


def header_text() -> str:
    """`npu.h`, which kernels include."""
    return files(__package__).joinpath("npu.h").read_text()


def kernel_name(program: Program) -> str:
    """The name of the C function."""
    return f"kernel_{_identifier(program.name)}"


def constant_names(program: Program) -> list[str]:
    """The names of the C arrays that hold the program's own constants, `const uint8_t` each."""
    return [f"{kernel_name(program)}_constant{index}" for index in range(len(program.constants))]


def kernel_source(program: Program, n_words: int = 0) -> str:
    """The function `void kernel_<name>(const void *a0, ..., void *a<n>)`, whose parameters are the
    program's arguments in their order. It needs `npu.h`, and issues exactly the stream of
    `Program.expand`; it does not wait for the device.

    The last `n_words` arguments are no tensors but words: where a command has their address, it
    gets the parameter itself, a `uint64_t`."""
    name = kernel_name(program)
    kernel = Kernel(program, f"{name}_table")
    disassembly = Disassembly(program)
    lines = [f"// {line}" for line in disassembly.head()]
    n_tensors = len(program.args) - n_words
    parameters = [
        f"{'const ' if arg.role == 'input' else ''}void *arg{index}"
        for index, arg in enumerate(program.args[:n_tensors])
    ]
    parameters += [f"uint64_t a{n_tensors + index}" for index in range(n_words)]
    lines += ['#include "npu.h"', ""]
    names = constant_names(program)
    for index, constant in enumerate(program.constants):
        alignment = program.alignments[len(program.args) + index]
        lines += _data(names[index], constant.data, alignment)
    for words, table in kernel.tables.items():
        lines += _words(table, [word.value for word in words])
    joined = ", ".join(parameters) or "void"
    lines += [f"void {name}({joined});", f"void {name}({joined}) {{"]
    for index, constant in enumerate(program.constants, len(program.args)):
        address = f"(uint64_t)(uintptr_t){names[index - len(program.args)]}"
        lines.append(f"{_INDENT}const uint64_t a{index} = {address};  // {constant.name}")
    for index, arg in enumerate(program.args[:n_tensors]):
        if index in kernel.arguments:
            address = f"(uint64_t)(uintptr_t)arg{index}"
            lines.append(f"{_INDENT}const uint64_t a{index} = {address};  // {arg.name}")
        else:
            lines.append(f"{_INDENT}(void)arg{index};")
    body = _Body(disassembly)
    body.items(kernel.items, 1)
    return "\n".join([*map(_one_line, lines + body.lines), "}", ""])


def _data(name: str, data: bytes, alignment: int) -> list[str]:
    """An array of bytes."""
    rows = [data[at : at + _ROW_BYTES] for at in range(0, len(data), _ROW_BYTES)]
    return [
        f"extern const uint8_t {name}[{len(data)}];",
        f"const uint8_t {name}[{len(data)}] __attribute__((aligned({alignment}))) = {{",
        *(_INDENT + "".join(f"{byte}," for byte in row) for row in rows),
        "};",
        "",
    ]


def _words(name: str, words: list[int]) -> list[str]:
    """An array of 64-bit words."""
    texts = [f"UINT64_C({word & WORD_MASK:#x})," for word in words]
    rows = [texts[at : at + _ROW_WORDS] for at in range(0, len(texts), _ROW_WORDS)]
    return [
        f"static const uint64_t {name}[{len(words)}] = {{",
        *(_INDENT + " ".join(row) for row in rows),
        "};",
        "",
    ]


class _Body:
    def __init__(self, disassembly: Disassembly) -> None:
        self.disassembly = disassembly
        self.lines: list[str] = []

    def add(self, line: Line, depth: int) -> None:
        self.lines.append(_INDENT * depth + "".join(map(str, line)))

    def items(self, items: list[Item], depth: int) -> None:
        for item in items:
            for line in item.before:
                self.add(line, depth)
            if isinstance(item, CommandItem):
                self.command(item, depth)
            elif isinstance(item, Scope):
                self.scope(item, depth)

    def command(self, item: CommandItem, depth: int) -> None:
        rs1, rs2 = item.words
        comment = self.disassembly.command(item.node)
        self.add((f"npu({item.node.funct}, ", rs1, ", ", rs2, f");  // {comment}"), depth)

    def scope(self, scope: Scope, depth: int) -> None:
        if not scope.is_loop:
            self.add(("if (", scope.limit, ") {"), depth)
        elif scope.is_fixed:
            self.add((f"do {{  // {scope.extent} times, i{scope.node.loop_id}",), depth)
        else:
            comment = f"  // i{scope.node.loop_id}"
            self.add(("if ((int64_t)(", scope.limit, ") > 0) do {", comment), depth)
        self.items(scope.items, depth + 1)
        for line in scope.bottom:
            self.add(line, depth + 1)
        self.add(("} while (", *scope.condition, ");") if scope.is_loop else ("}",), depth)


def _identifier(text: str) -> str:
    return re.sub(r"\W", "_", text, flags=re.ASCII)


def _one_line(line: str) -> str:
    """A line whose comment is one whatever a name in it holds."""
    return line.rstrip("\\")
