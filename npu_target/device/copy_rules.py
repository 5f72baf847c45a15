"""What one command of a device may copy: what shared passes ask before they choose its axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..passes.copies import Load, Store


class CopyRules(ABC):
    """The rules of a device's copies.

    config : of the device.
    pooled_in_bank : whether a tile that a store pools has to lie in one bank.
    transposed_weights : whether a step takes each block of weights transposed, `[columns, lanes]`.
        Then weights have to be packed, always, which transposes them, and `Features.row_elements`
        are the elements of a block: of fewer channels definitions load parts of blocks.
    steps_load_sums : whether the engine of the steps loads sums as well. Then that hides nothing
        between earlier steps, which wait for it, and comes behind them.
    """

    pooled_in_bank = False
    steps_load_sums = False
    transposed_weights = False

    def __init__(self, config: Any) -> None:
        self.config = config

    @abstractmethod
    def most_load_columns(self, element_bytes: int) -> int:
        """Columns that one command may load of elements of this size in DRAM, over all of its
        blocks, which are as wide as a row of the memory: that wide where it takes one block."""

    @abstractmethod
    def most_store_columns(self, store: Store) -> int:
        """Columns that one command of a store may take, as of loads."""

    @abstractmethod
    def reaches_blocks(self, copy: Load | Store, block_rows: int) -> bool:
        """Whether a command finds blocks that lie so many rows apart in the tile."""

    def filled(self, load: Load) -> Load:
        """A load of zeros, or of what it fills with, to all that a load writes: where none of its
        elements is to be read."""
        return load.filled()

    def writes_unread_columns(self, load: Load) -> bool:
        """Whether `filled` rows have to be written to columns too of which no row has an element:
        else they stay as they are, which definitions do not observe."""
        return True
