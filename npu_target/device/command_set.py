"""The commands of a kind of device, as programs and streams of words know them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from .commands import WORD_BITS, WORD_MASK, DeviceCommand, IsaError, RowBits


class CommandSet:
    """The classes of a device's commands, told apart by their words.

    setting : those that only set what later commands obey.
    computing : those of the device's steps, between which the host has time.
    looping : those that start a loop of the device's own, which issues many commands.
    """

    def __init__(
        self,
        classes: Iterable[type[DeviceCommand]],
        setting: Iterable[type[DeviceCommand]] = (),
        computing: Iterable[type[DeviceCommand]] = (),
        looping: Iterable[type[DeviceCommand]] = (),
    ) -> None:
        self.classes = tuple(classes)
        self._setting, self._computing = frozenset(setting), frozenset(computing)
        self._looping = frozenset(looping)
        self._by_funct: dict[int, list[type[DeviceCommand]]] = {}
        for cls in self.classes:
            self._by_funct.setdefault(cls.funct, []).append(cls)

    def find(self, funct: int, word1: int) -> type[DeviceCommand] | None:
        """The class that decodes these words, None when the device has no such command."""
        for cls in self._by_funct.get(funct, ()):
            if word1 & cls.tag_mask == cls.tag:
                return cls
        return None

    @cached_property
    def numbers(self) -> list[list[int]]:
        """The classes as the device library takes them (`device_api.rewritten_codes`)."""
        classes = []
        for cls in self.classes:
            kinds = [cls in kind for kind in (self._setting, self._computing, self._looping)]
            numbers = [cls.funct, _as_int64(cls.tag_mask), _as_int64(cls.tag), *map(int, kinds)]
            for word, rows in enumerate(cls.row_bits()):
                for low_bit, width in rows:
                    numbers += [word, low_bit, width]
            classes.append(numbers)
        return classes

    def is_setting(self, funct: int, word1: int) -> bool:
        """Whether the command of these words only sets what later ones obey."""
        return self.find(funct, word1) in self._setting

    def row_bits(self, funct: int, word1: int) -> tuple[RowBits, RowBits]:
        """Where the numbers of rows are in each word of such a command."""
        found = self.find(funct, word1)
        return ((), ()) if found is None else found.row_bits()

    def decode(self, funct: int, word1: int, word2: int) -> DeviceCommand:
        """The command of these words.

        Raises IsaError for an unknown one and for reserved bits that are set.
        """
        for name, word in (("rs1", word1), ("rs2", word2)):
            if not 0 <= word <= WORD_MASK:
                raise IsaError(f"{name} is {word:#x}, needs 64 bits")
        found = self.find(funct, word1)
        if found is None:
            raise IsaError(f"funct is {funct}, the device has no such command")
        return found.decode_words(word1, word2)

    def disassemble(self, words: Iterable[tuple[int, int, int]]) -> str:
        """One line a command; words that are no command are shown raw."""
        lines = []
        for funct, word1, word2 in words:
            try:
                lines.append(str(self.decode(funct, word1, word2)))
            except IsaError as error:
                lines.append(f"raw  funct {funct}, rs1 {word1:#x}, rs2 {word2:#x}  # {error}")
        return "\n".join(lines)


def _as_int64(word: int) -> int:
    """A word as the signed number that TVM's FFI carries."""
    return word - (1 << WORD_BITS) if word >> (WORD_BITS - 1) else word
