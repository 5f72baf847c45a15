"""A network's device kernels as C: one function for all that differ in constant words alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..device import kind_of
from ..device.command_set import CommandSet
from ..program import Address, Arg, Command, Loop, Node, Operand, Program, nodes_of
from ..program.c import kernel_name, kernel_source
from .c_text import Names

# Of a command that is a setting: its place among them, and which of its words.
_Place = tuple[int, int]


@dataclass(frozen=True)
class SharedKernel:
    """A function of C, for all kernels whose settings differ in the `varying` words alone.

    `program` : the first kernel's, its own constants as arguments after the others, and after them
    those words.
    """

    program: Program
    varying: tuple[tuple[_Place, ...], ...]

    @property
    def name(self) -> str:
        """Of the function."""
        return kernel_name(self.program)

    @property
    def text(self) -> str:
        """Its definition, a file."""
        return kernel_source(self.program, len(self.varying))

    def words(self, program: Program) -> list[int]:
        """Those that make it one of its kernels."""
        words = _setting_words(program)
        return [words[places[0]] for places in self.varying]


def shared_kernels(programs: Sequence[Program]) -> dict[str, SharedKernel]:
    """The functions of C for all of these programs, by the names of these."""
    groups: dict[object, list[Program]] = {}
    for program in programs:
        masked = _with_words(program, dict.fromkeys(_setting_words(program), Operand()))
        args = tuple((arg.role, arg.dtype, arg.shape) for arg in _tensors(program))
        groups.setdefault((args, masked), []).append(program)
    found = {}
    for members in groups.values():
        kernel = _shared(members)
        found.update({member.name: kernel for member in members})
    return found


def _shared(members: Sequence[Program]) -> SharedKernel:
    first, words = members[0], [_setting_words(member) for member in members]
    columns: dict[tuple[int, ...], list[_Place]] = {}
    for place in words[0]:
        column = tuple(found[place] for found in words)
        if len(set(column)) > 1:
            columns.setdefault(column, []).append(place)
    varying = tuple(map(tuple, columns.values()))
    names = Names()
    args = _tensors(first)
    for arg in args:
        names.fresh(arg.name)
    extra = [Arg(names.fresh(f"setting{i}"), "input", "uint64", ()) for i in range(len(varying))]
    operands = {
        place: Operand(address=Address(len(args) + index))
        for index, places in enumerate(varying)
        for place in places
    }
    body = _with_words(first, operands)
    program = replace(first, args=(*args, *extra), body=body, constants=())
    return SharedKernel(program, varying)


def _tensors(program: Program) -> tuple[Arg, ...]:
    """What a kernel is called with: constants of its own lie with those of the network."""
    own = [
        Arg(constant.name, "input", "uint8", (constant.nbytes,)) for constant in program.constants
    ]
    return (*program.args, *own)


def _setting_words(program: Program) -> dict[_Place, int]:
    """The constant words of a program's settings, by their places."""
    commands = kind_of(program.config).commands
    settings = (node for node in nodes_of(program.body) if _is_setting(node, commands))
    words: dict[_Place, int] = {}
    for index, command in enumerate(settings):
        assert isinstance(command, Command)
        for register, operand in ((1, command.rs1), (2, command.rs2)):
            if operand.is_constant:
                words[index, register] = operand.base
    return words


def _is_setting(node: Node, commands: CommandSet) -> bool:
    return isinstance(node, Command) and commands.is_setting(node.funct, node.rs1.base)


def _with_words(program: Program, operands: Mapping[_Place, Operand]) -> tuple[Node, ...]:
    """A program's body with other operands at places of settings."""
    commands = kind_of(program.config).commands
    count = 0

    def changed(node: Node) -> Node:
        nonlocal count
        if isinstance(node, Loop):
            return Loop(node.loop_id, node.extent, tuple(map(changed, node.body)))
        if not _is_setting(node, commands):
            return node
        rs1 = operands.get((count, 1), node.rs1)
        rs2 = operands.get((count, 2), node.rs2)
        count += 1
        return Command(node.funct, rs1, rs2)

    return tuple(map(changed, program.body))
