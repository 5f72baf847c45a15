"""What one LOAD or STORE may copy."""

from __future__ import annotations

from ...device.copy_rules import CopyRules
from ...passes.copies import Load, Store
from .config import VtaConfig


class VtaCopyRules(CopyRules):
    """Whole rows of a buffer, which in DRAM are at multiples of their size; a block of columns at a
    time.  A row of the weight buffer is a block `[columns, lanes]`."""

    transposed_weights = True
    steps_load_sums = True
    config: VtaConfig

    def most_load_columns(self, element_bytes: int) -> int:
        return self.config.dim

    def most_store_columns(self, store: Store) -> int:
        return self.config.dim

    def reaches_blocks(self, copy: Load | Store, block_rows: int) -> bool:
        return False
