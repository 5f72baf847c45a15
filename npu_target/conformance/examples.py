"""Commands and a program of them, made of what a kind of device says of its commands alone."""

from __future__ import annotations

from npu_target.device import DeviceConfig, DeviceKind
from npu_target.device.commands import DeviceCommand
from npu_target.program import Arg, Command, Loop, Operand, Program, const


def command_classes(kind: DeviceKind) -> tuple[type[DeviceCommand], ...]:
    """The classes of the device's commands; none where they cannot be imported."""
    try:
        return kind.commands.classes
    except Exception:  # noqa: BLE001  whatever the package of others raises
        return ()


def least(command: type[DeviceCommand], **changes: object) -> DeviceCommand:
    """The command with the least values of its fields, but for some."""
    values = {
        name: spec.at_least if spec.kind == "uint" else spec.decode(0)
        for name, spec in command.specs().items()
    }
    return command(**{**values, **changes})


def program_of_commands(kind: DeviceKind, config: DeviceConfig, times: int = 3) -> Program:
    """Each of the device's commands, in a loop. Nothing is to be launched of it."""
    commands = [program_command(*least(command).encode()) for command in kind.commands.classes]
    return Program("all_of_them", config, _ARGS, (Loop(0, const(times), tuple(commands)),))


def program_command(funct: int, word1: int, word2: int) -> Command:
    """The command of constant words."""
    return Command(funct, Operand.of(word1), Operand.of(word2))


def program_of(config: DeviceConfig, *commands: Command) -> Program:
    """Commands one after the other."""
    return Program("some", config, _ARGS, commands)


_ARGS = (Arg("x", "input", "int8", (4,)), Arg("y", "output", "int8", (4,)))
