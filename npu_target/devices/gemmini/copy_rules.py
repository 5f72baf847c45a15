"""What one MVIN or MVOUT may copy."""

from __future__ import annotations

from ...device.copy_rules import CopyRules
from ...passes.copies import Load, Store
from .config import GemminiConfig

# Of the field for the rows between blocks of a load.
_MOST_BLOCK_STRIDE = (1 << 16) - 1


class GemminiCopyRules(CopyRules):
    """Blocks of columns are as wide as the array; a command takes as many as a request to DRAM has
    bytes for."""

    config: GemminiConfig
    # Behind the end of a bank a pooling store does not wait for loads.
    pooled_in_bank = True

    def most_load_columns(self, element_bytes: int) -> int:
        config = self.config
        return config.mvin_max_cols if element_bytes == 1 else config.mvin_max_cols_acc

    def most_store_columns(self, store: Store) -> int:
        if store.full_width or store.pooling is not None:
            return self.config.dim
        return self.config.mvout_max_cols

    def reaches_blocks(self, copy: Load | Store, block_rows: int) -> bool:
        if isinstance(copy, Store):
            return block_rows == self.config.dim
        return 0 < block_rows <= _MOST_BLOCK_STRIDE

    def filled(self, load: Load) -> Load:
        """A stacked load keeps its place in DRAM, from which its setting is; a shrunk one reads any
        elements, times 0: see `npu_target.devices.gemmini.copies`."""
        if load.shrunk and not load.fill:
            columns = load.column.variables()
            bounds = [f for f in load.valid if any(f.depends_on(column) for column in columns)]
            return load._replace(offset=load.column, valid=tuple(bounds), scale=0.0)
        filled = load.filled()
        return filled._replace(offset=load.offset) if load.stack else filled

    def writes_unread_columns(self, load: Load) -> bool:
        return not load.shrunk  # of the first block some are read always
