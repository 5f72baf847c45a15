"""The operations of copies: loads and stores as MVINs and MVOUTs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ...codegen.constant_rows import ConstantRows
from ...codegen.operands import to_command
from ...codegen.operations import CopyKind, CopyOperation, Engine, LoopIds
from ...codegen.pieces import Piece, pieces
from ...codegen.row_parts import RowPart, row_parts
from ...device.commands import DeviceCommand
from ...passes.copies import Load, Store
from ...passes.linear import Linear, combine
from ...passes.transfers import Transfer
from ...program import Command, CommandForm, Node, Operand, command_form
from .block_setting import BlockSetting
from .config import GemminiConfig
from .copy_rules import GemminiCopyRules
from .engine_cycles import load_cycles, store_cycles, zero_cycles
from .isa import ConfigLd, ConfigSt, LocalAddress, Mvout, mvin_class
from .pooling import pooled_walk
from .settings import DeviceSettings

_NOTHING = Linear()


class Move(NamedTuple):
    """An MVIN or MVOUT, what is said of rows besides their number, and the settings that its phase
    has no room for: commands, or one that is another for each block of channels."""

    command: type[DeviceCommand]
    flags: LocalAddress
    settings: tuple[Command, ...] = ()
    block_setting: BlockSetting | None = None

    def nodes(self, operation: CopyOperation) -> tuple[Node, ...]:
        """See `CopyCommand`."""
        settings = self.settings
        if self.block_setting is not None:
            settings = (self.block_setting.command(operation.block, operation.loops),)
        columns, rows, argument = operation.columns, operation.rows, operation.kind.argument
        values = [operation.row]
        if argument is not None:
            values.append(operation.dram_bytes)
        values += [size for size in (columns, rows) if size.items]
        form = _form(
            self.command,  # type: ignore[arg-type]
            self.flags.word,
            argument,
            None if columns.items else columns.const,
            None if rows.items else rows.const,
        )
        return (*settings, to_command(form, *values))


@lru_cache(maxsize=256)
def _form(
    command: type[DeviceCommand],
    flags: int,
    argument: int | None,
    cols: int | None,
    rows: int | None,
) -> CommandForm:
    """MVINs or MVOUTs of a size, as far as that is a constant; zeros come from nowhere."""
    fields = {"dram_address": 0 if argument is None else None, "cols": cols, "rows": rows}
    running = [name for name, value in fields.items() if value is None]
    constants: dict[str, Any] = {"local": LocalAddress.decode(flags)}
    constants |= {name: value for name, value in fields.items() if value is not None}
    if argument is not None:
        constants["dram_address"] = Operand.argument(argument)
    return command_form(command, ("local", *running), **constants)


class CopyOperations:
    """Makes operations of copies; the settings they need are those of a phase, what they fill tiles
    with but zeros the ``rows`` of the program.

    ``shrunk`` is the argument whose int8 elements are loaded for sums, if there is one, and how
    many it has.
    """

    def __init__(
        self,
        config: GemminiConfig,
        arguments: Mapping[str, int],
        settings: DeviceSettings,
        ids: LoopIds,
        rows: ConstantRows,
        shrunk: tuple[str, int] | None = None,
    ) -> None:
        self.rows = rows
        self.shrunk = shrunk
        self.config = config
        self.rules = GemminiCopyRules(config)
        self.arguments = arguments
        self.settings = settings
        self.ids = ids

    def of(self, copy: Load | Store, transfer: Transfer) -> list[CopyOperation]:
        """The operations of one copy, to be issued in this order."""
        if isinstance(copy, Load):
            return self._load(copy, transfer)
        if copy.pooling is not None:
            return [self._pooling_store(copy, transfer)]
        return self._stores(copy, transfer)

    def _load(self, copy: Load, transfer: Transfer) -> list[CopyOperation]:
        columns = Linear(transfer.blocks * self.config.dim)
        if copy.stack is not None or copy.shrunk:
            columns = transfer.columns
        parts = row_parts(copy, transfer)
        if copy.accumulate:
            parts = [part for part in parts if not part.is_filled]
        elif (
            copy.source is None
            and not copy.fill
            and self.shrunk is not None
            and self._is_sums(copy)
        ):
            copy = copy._replace(source=self.shrunk[0], shrunk=True)
            columns = Linear(min(columns.const, self.shrunk[1]))
        made = []
        for part in parts:
            wide = columns if part.is_filled else transfer.columns
            made += self._mvins(copy, transfer, part, wide)
        return made

    def _mvins(
        self,
        copy: Load,
        transfer: Transfer,
        part: RowPart,
        columns: Linear,
    ) -> list[CopyOperation]:
        """Loads of some rows and the columns from 0, in pieces that the device takes."""
        dim, config = self.config.dim, self.config
        is_zero, is_row = part.is_filled and not copy.fill, part.is_filled and copy.fill != 0
        if is_row:
            transfer = transfer._replace(row_bytes=0, dram_bytes=_NOTHING)
        elif is_zero and copy.shrunk:
            # On the hardware a shrunk load from nowhere never ends, and zeros for a bank of the
            # accumulator get lost while elements are loaded into another: so these are elements,
            # the first ones of the argument, times 0.
            copy, is_zero = copy._replace(scale=0.0), False
            transfer = transfer._replace(row_bytes=0, dram_bytes=_NOTHING)
        id, settings = self._load_id(copy, transfer, is_row=is_row)
        widest = dim
        if transfer.blocks > 1:
            widest = self.rules.most_load_columns(copy.element_bytes)
        if transfer.blocks * dim <= widest:  # one command moves them all
            widest = transfer.blocks * dim
        flags = _flags(self._is_sums(copy), accumulate=copy.accumulate)
        kind = CopyKind(
            Engine.LOAD,
            True,
            copy.memory,
            self._argument(copy, is_zero=is_zero, is_row=is_row),
            dim,
            transfer.block_rows,
            Move(mvin_class(id), flags, settings),
            copy.stack.lines if copy.stack else 1,
        )

        def piece(at: Piece, row: Piece) -> CopyOperation:
            block = combine("floordiv", at.start, Linear(dim))
            dram_bytes = _NOTHING
            if is_zero:
                cycles = zero_cycles(row.most * kind.lines, at.most, config)
            else:
                if not is_row:  # which is as long as any command needs
                    dram_bytes = transfer.dram_bytes + row.start * transfer.row_bytes
                    dram_bytes = dram_bytes + at.start * copy.element_bytes
                cycles = load_cycles(
                    row.most, at.most, copy.element_bytes, transfer.row_bytes, config
                )
                cycles = max(cycles, row.most * kind.lines)
                if copy.scale != 1.0:
                    cycles = max(cycles, row.most * dim // config.mvin_scale_units)
            return CopyOperation(
                kind,
                (*transfer.outer, *row.loops, *at.loops),
                transfer.tile_row + row.start + block * transfer.block_rows,
                dram_bytes,
                row.length,
                at.length,
                row.most,
                at.most,
                (*part.guards, *row.guards, *at.guards),
                cycles,
            )

        return [
            piece(at, row)
            for row in pieces(part.first, part.end, dim, (0, transfer.rows), self.ids)
            for at in pieces(_NOTHING, columns, widest, (1, transfer.blocks * dim), self.ids)
        ]

    def _stores(self, copy: Store, transfer: Transfer) -> list[CopyOperation]:
        dim, config = self.config.dim, self.config
        flags = _flags(self._is_sums(copy), full_width=copy.full_width)
        Mvout(dram_address=0, local=flags, cols=1, rows=1).validate(config)
        setting = ConfigSt(
            stride_bytes=transfer.row_bytes, scale=copy.scales[0], activation=int(copy.relu)
        )
        kind = self._store_kind(copy, flags, setting)
        widest = min(self.rules.most_store_columns(copy), transfer.blocks * dim)
        (part,) = row_parts(copy, transfer)

        def piece(at: Piece, row: Piece) -> CopyOperation:
            dram_bytes = transfer.dram_bytes + row.start * transfer.row_bytes
            return CopyOperation(
                kind,
                (*transfer.outer, *row.loops, *at.loops),
                # Blocks lie dim rows apart, so columns and rows count alike.
                transfer.tile_row + row.start + at.start,
                dram_bytes + at.start * copy.element_bytes,
                row.length,
                at.length,
                row.most,
                at.most,
                (*part.guards, *row.guards, *at.guards),
                store_cycles(row.most, at.most, copy.element_bytes, config),
                copy.block,
            )

        return [
            piece(at, row)
            for row in pieces(part.first, part.end, dim, (0, transfer.rows), self.ids)
            for at in pieces(
                _NOTHING, transfer.columns, widest, (1, transfer.blocks * dim), self.ids
            )
        ]

    def _pooling_store(self, copy: Store, transfer: Transfer) -> CopyOperation:
        """One mvout for all windows of an image tile."""
        walk = pooled_walk(copy, transfer)
        assert copy.pooling is not None
        size = copy.pooling.size
        setting = ConfigSt(
            stride_bytes=walk.pixel_bytes,
            scale=copy.scales[0],
            activation=int(copy.relu),
            pool_stride=walk.pool_stride,
            pool_size=size,
            **walk.counts,
        )
        flags = _flags(self._is_sums(copy))
        ids = [loop.loop_id for loop in walk.loops]
        rows_read = walk.pool_out_rows * walk.pool_out_cols * size * size
        return CopyOperation(
            self._store_kind(copy, flags, setting),
            tuple(loop for loop in transfer.outer if loop.loop_id not in ids),
            transfer.tile_row.without(*ids),
            transfer.dram_bytes.without(*ids),
            _NOTHING,
            transfer.columns,
            0,
            self.config.dim,
            (),
            store_cycles(rows_read, self.config.dim, 1, self.config),
            copy.block.without(*ids),
        )

    def _store_kind(self, copy: Store, flags: LocalAddress, setting: ConfigSt) -> CopyKind:
        dim, argument = self.config.dim, self.arguments[copy.target]
        if len(copy.scales) > 1:
            self.settings.before_each(ConfigSt)
            made = BlockSetting(setting, copy.scales, self.config, self.ids)
            move = Move(Mvout, flags, block_setting=made)
        else:
            move = Move(Mvout, flags, self.settings.other(setting))
        return CopyKind(Engine.STORE, False, copy.memory, argument, dim, dim, move)

    def _is_sums(self, copy: Load | Store) -> bool:
        return copy.memory == self.config.memories.sums

    def _argument(self, copy: Load, *, is_zero: bool, is_row: bool) -> int | None:
        """What a load reads; None for zeros from nowhere."""
        if is_row:
            return self.rows.argument(copy.fill)
        return None if is_zero else self.arguments[str(copy.source)]

    def _load_id(
        self, copy: Load, transfer: Transfer, *, is_row: bool
    ) -> tuple[int, tuple[Command, ...]]:
        if copy.source is None and copy.stack is None and not is_row:
            return self.settings.any_load()
        repeats = 1 if copy.stack is None else copy.stack.lines
        setting = _load_setting(
            transfer.row_bytes, transfer.block_rows, copy.scale, copy.shrunk, repeats
        )
        # Borders, times 0 or of a constant row, come in commands of one block and of several; and a
        # bias is one block, whose row is read again and again as well.
        one_block = transfer.blocks == 1 and (copy.scale == 0.0 or transfer.row_bytes == 0)
        return self.settings.load(setting, any_block_stride=one_block)


@lru_cache(maxsize=256)
def _load_setting(
    stride_bytes: int, block_stride: int, scale: float, shrunk: bool, pixel_repeats: int
) -> ConfigLd:
    return ConfigLd(
        stride_bytes=stride_bytes,
        block_stride=block_stride,
        scale=scale,
        shrunk=shrunk,
        pixel_repeats=pixel_repeats,
    )


@lru_cache(maxsize=256)
def _flags(accumulator: bool, accumulate: bool = False, full_width: bool = False) -> LocalAddress:
    """What is said of a row besides its number."""
    return LocalAddress(0, accumulator=accumulator, accumulate=accumulate, full_width=full_width)
