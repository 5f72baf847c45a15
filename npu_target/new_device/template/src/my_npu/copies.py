"""What one copy may take, and the commands of copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from npu_target.codegen.operands import to_number, to_operand
from npu_target.codegen.operations import CopyKind, CopyOperation, Engine
from npu_target.codegen.pieces import pieces
from npu_target.codegen.row_parts import row_parts
from npu_target.device.copy_rules import CopyRules
from npu_target.device.emission import Emission
from npu_target.passes import copies
from npu_target.passes.errors import CodegenError
from npu_target.passes.transfers import Transfer
from npu_target.program import Node, device_command

from .commands import Clear, Load, Store
from .config import MyNpuConfig
from .numbers import RULE

Copy = copies.Load | copies.Store


class MyNpuCopyRules(CopyRules):
    """A command copies one block of columns, as wide as a row of the memories."""

    config: MyNpuConfig

    def most_load_columns(self, element_bytes: int) -> int:
        return self.config.lanes

    def most_store_columns(self, store: copies.Store) -> int:
        return self.config.lanes

    def reaches_blocks(self, copy: Copy, block_rows: int) -> bool:
        return False


class MyNpuEmission(Emission):
    """Commands wait by themselves for the rows that they touch: nothing to synchronize here."""

    config: MyNpuConfig

    @property
    def queue_entries(self) -> Mapping[Engine, int]:
        return dict.fromkeys((Engine.LOAD, Engine.STORE), self.config.queue_entries)

    def copies(self, copy: Copy, transfer: Transfer) -> list[CopyOperation]:
        if isinstance(copy, copies.Store):
            if copy.full_width or copy.pooling is not None:
                raise CodegenError("stores requantize sums, and do not pool them")
            scaling = {"shift": RULE.bits(copy.scale), "relu": copy.relu}
            return self._operations(copy, copy.target, transfer, Store, scaling)
        if copy.accumulate or copy.shrunk or copy.scale != 1:
            raise CodegenError("loads copy elements as they are")
        to_sums = {"to_sums": copy.memory == self.config.memories.sums}
        return self._operations(copy, copy.source, transfer, Load, to_sums)

    def _operations(
        self, copy: Copy, name: str | None, transfer: Transfer, command: Any, fields: dict[str, Any]
    ) -> list[CopyOperation]:
        """The rows that DRAM has, and zeros around them: commands of `most_rows` at most."""
        config, lanes, is_load = self.config, self.config.lanes, command is Load
        engine = Engine.LOAD if is_load else Engine.STORE
        move = _Move(command, transfer.row_bytes, fields)
        made = []
        for part in row_parts(copy, transfer):
            argument = None if part.is_filled or name is None else self.arguments[name]
            # The last numbers: columns of a block, and rows to the next one, if there is one.
            kind = CopyKind(engine, is_load, copy.memory, argument, lanes, lanes, command=move)
            all_rows = 0, transfer.rows
            for piece in pieces(part.first, part.end, config.most_rows, all_rows, self.ids):
                cycles = config.copy_cycles(piece.most, lanes * copy.element_bytes)
                operation = CopyOperation(
                    kind,
                    loops=(*transfer.outer, *piece.loops),
                    row=transfer.tile_row + piece.start,
                    dram_bytes=transfer.dram_bytes + piece.start * transfer.row_bytes,
                    rows=piece.length,
                    columns=transfer.columns,
                    most_rows=piece.most,
                    most_columns=lanes,
                    guards=(*part.guards, *piece.guards),
                    cycles=piece.most if argument is None else cycles,
                )
                made.append(operation)
        return made


@dataclass(frozen=True)
class _Move:
    """The command of a copy, and its fields that do not run along the copy's loops."""

    command: type[Load | Store]
    stride: int
    fields: dict[str, Any]

    def nodes(self, operation: CopyOperation) -> tuple[Node, ...]:
        fields = self.fields | {"row": to_operand(operation.row), "rows": to_number(operation.rows)}
        if operation.kind.argument is None:
            return (device_command(Clear, **fields),)
        fields.update(dram_address=operation.dram_address(), stride=self.stride)
        fields["columns"] = to_number(operation.columns)
        return (device_command(self.command, **fields),)
