"""The device's settings (strides, scales, windows) as a program goes on.

They are state of the device: three for loads, one for stores, one for the array. A configuration
command inside a loop costs the host time, and one for the array drains it. So the top level of a
program is taken in phases: what a phase needs and the device does not hold is set at the start of
the phase, and only a phase that needs more of a kind than there is makes them copy by copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ...device.commands import DeviceCommand
from ...program import Command, Node
from ...program.operand import Operand
from .config import GemminiConfig
from .isa import ConfigEx, ConfigLd, ConfigSt

_LOAD_SETTINGS = 3
Made = TypeVar("Made")


class _Overflow(Exception):
    """A phase needs more settings of a kind than the device holds."""

    def __init__(self, kind: type[DeviceCommand]) -> None:
        super().__init__(kind.__name__)
        self.kind = kind


class DeviceSettings:
    """What the device holds, and what the phase under way needs of it."""

    def __init__(self, config: GemminiConfig) -> None:
        self._config = config
        self._loads: list[ConfigLd | None] = [None] * _LOAD_SETTINGS
        self._others: dict[type[DeviceCommand], DeviceCommand] = {}
        self._needed: set[int | type[DeviceCommand]] = set()
        self._made: list[DeviceCommand] = []
        self._open: set[int] = set()  # of loads made for this phase, those of any block stride
        self._each: set[type[DeviceCommand]] = set()
        self._zeros = False
        self._any = ConfigLd(stride_bytes=0, block_stride=config.dim)

    def whole(self, make: Callable[[], Made]) -> tuple[tuple[Node, ...], Made] | None:
        """As `phase`; None where it needs more settings of a kind than the device holds."""
        try:
            return self._made_at_once(make, set())
        except _Overflow:
            return None

    def phase(self, make: Callable[[], Made]) -> tuple[tuple[Node, ...], Made]:
        """The commands at the start of a phase, and what `make` made of it.  It may be called more
        than once."""
        each: set[type[DeviceCommand]] = set()
        while True:
            try:
                return self._made_at_once(make, each)
            except _Overflow as overflow:
                each = each | {overflow.kind}

    def _made_at_once(
        self, make: Callable[[], Made], each: set[type[DeviceCommand]]
    ) -> tuple[tuple[Node, ...], Made]:
        """A phase whose settings of the kinds in ``each`` are made copy by copy."""
        before = list(self._loads), dict(self._others)
        self._needed, self._made, self._each, self._zeros = set(), [], each, False
        self._open = set()
        try:
            made = make()
            if self._zeros and self._loads[0] is None:
                self.load(self._any)
        except _Overflow:
            self._loads, self._others = before
            raise
        if ConfigLd in each:
            self._loads = [None] * _LOAD_SETTINGS
        for kind in each - {ConfigLd}:
            self._others.pop(kind, None)
        return tuple(self._command(setting) for setting in self._made), made

    def load(
        self, setting: ConfigLd, *, any_block_stride: bool = False
    ) -> tuple[int, tuple[Command, ...]]:
        """Which of the settings for loads holds this one (its ``id`` is 0), and the commands that
        have to come before the copy.  ``any_block_stride`` is for copies of one block of columns,
        which share a setting with those of several that differ in nothing else.
        """
        if ConfigLd in self._each:
            return 0, (self._command(setting),)
        id = self._held(setting, any_block_stride=any_block_stride)
        if id is None:
            id = self._free(setting)
            self._loads[id] = setting
            self._made.append(replace(setting, id=id))
            if any_block_stride:
                self._open.add(id)
        elif not any_block_stride and id in self._open:
            self._open.remove(id)
            self._loads[id] = setting
            self._made = [
                replace(setting, id=id) if isinstance(made, ConfigLd) and made.id == id else made
                for made in self._made
            ]
        self._needed.add(id)
        return id, ()

    def _held(self, setting: ConfigLd, *, any_block_stride: bool) -> int | None:
        """The setting for loads that is this one, or can be: it is of any block stride, or this one
        is."""
        if setting in self._loads:
            return self._loads.index(setting)
        return next(
            (
                id
                for id, held in enumerate(self._loads)
                if (any_block_stride or id in self._open)
                and held is not None
                and replace(held, block_stride=setting.block_stride) == setting
            ),
            None,
        )

    def _free(self, setting: ConfigLd) -> int:
        """A setting for loads that this phase does not need, one that holds nothing first."""
        # Zeros of whole rows go by the first one, and shrunk ones never end on the hardware.
        is_special = setting.pixel_repeats > 1 or setting.shrunk
        free = [id for id in range(int(is_special), _LOAD_SETTINGS) if id not in self._needed]
        if not free:
            raise _Overflow(ConfigLd)
        return min(free, key=lambda id: self._loads[id] is not None)

    def any_load(self) -> tuple[int, tuple[Command, ...]]:
        """As `load`, for zeros of one block of columns, to which no setting matters."""
        if ConfigLd in self._each:
            return 0, (self._command(self._any),)
        self._zeros = True
        return 0, ()

    def other(self, setting: ConfigSt | ConfigEx) -> tuple[Command, ...]:
        """The commands that have to come before a store or a step."""
        kind = type(setting)
        if kind in self._each:
            return (self._command(setting),)
        if self._others.get(kind) != setting:
            if kind in self._needed:
                raise _Overflow(kind)
            self._others[kind] = setting
            self._made.append(setting)
        self._needed.add(kind)
        return ()

    def before_each(self, kind: type[ConfigSt]) -> None:
        """Stores of the phase come with settings of their own, none as another."""
        if kind not in self._each and kind in self._needed and kind in self._others:
            raise _Overflow(kind)
        self._others.pop(kind, None)
        self._needed.add(kind)

    def _command(self, setting: DeviceCommand) -> Command:
        """Raises IsaError where the device cannot do it: a feature it was built without, too."""
        setting.validate(self._config)
        funct, rs1, rs2 = setting.encode()
        return Command(funct, Operand.of(rs1), Operand.of(rs2))
