"""The commands of copies, and of the array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from . import expr
from .codegen_settings import DeviceSettings
from .codegen_steps import ArrayStep, FreshLoop, array_steps, nested
from .config import NpuConfig
from .expr import Expr
from .isa import (
    ConfigEx,
    ConfigLd,
    ConfigSt,
    LocalAddress,
    Mvout,
    mvin_class,
)
from .passes.copies import Load, Store
from .passes.linear import Linear, combine, to_expr, to_operand
from .passes.pooling import pooled_walk
from .passes.transfers import LoopExtent, Transfer, max_load_columns, max_store_columns
from .program import Loop, Node, Operand, device_command


class Emitter:
    """Makes commands; the settings they need are `settings`."""

    def __init__(self, config: NpuConfig, arguments: Sequence[str]) -> None:
        self.config = config
        self.arguments = {name: index for index, name in enumerate(arguments)}
        self.settings = DeviceSettings(config)

    # ---- copies -------------------------------------------------------------------------

    def copy(self, copy: Load | Store, transfer: Transfer, fresh: FreshLoop) -> tuple[Node, ...]:
        """The loops and commands of one copy."""
        before: tuple[Node, ...] = ()
        if isinstance(copy, Load):
            id, before = self._load_id(copy, transfer)
            body = self._load(copy, transfer, id, fresh)
        elif copy.pooling is not None:
            return self._pooling_store(copy, transfer)
        else:
            before = self.settings.other(_store_setting(transfer.row_bytes, copy.scale, copy.relu))
            body = self._store(copy, transfer, fresh)
        return (*before, *nested(transfer.outer, body))

    def _load(self, copy: Load, transfer: Transfer, id: int, fresh: FreshLoop) -> tuple[Node, ...]:
        rows, all_columns = Linear(transfer.rows), Linear(transfer.blocks * self.config.dim)
        nothing = Linear()

        def zeros(first: Linear, end: Linear) -> tuple[Node, ...]:
            length = end - first
            if copy.accumulate or (length.is_const and length.const <= 0):
                return ()
            return self._pieces(copy, transfer, id, fresh, first, end, all_columns, zero=True)

        if copy.source is None:
            return zeros(nothing, rows)
        first, end = transfer.first_row, transfer.end_row
        valid = (
            *zeros(nothing, combine("min", first, rows)),
            *self._pieces(copy, transfer, id, fresh, first, end, transfer.columns, zero=False),
            *zeros(combine("max", first, end), rows),
        )
        otherwise = zeros(nothing, rows) if transfer.guards else ()
        return _under(transfer.guards, valid, otherwise, fresh)

    def _pieces(
        self,
        copy: Load,
        transfer: Transfer,
        id: int,
        fresh: FreshLoop,
        first: Linear,
        end: Linear,
        columns: Linear,
        zero: bool,
    ) -> tuple[Node, ...]:
        """mvin commands for rows ``first`` to ``end`` and the columns from 0, in pieces that the
        device takes."""
        dim = self.config.dim
        widest = dim
        if transfer.blocks > 1:
            widest = max_load_columns(copy, self.config)
        mvin = mvin_class(id)
        flags = _flags(copy.accumulator, accumulate=copy.accumulate)

        def one_row_piece(row: Linear, n_rows: Linear) -> tuple[Node, ...]:
            def command(column: Linear, n_columns: Linear) -> tuple[Node, ...]:
                block = combine("floordiv", column, Linear(dim))
                tile_row = transfer.tile_row + row + block * transfer.block_rows
                address: Any = 0
                if not zero:
                    bytes_in = transfer.dram_bytes + row * transfer.row_bytes
                    bytes_in = bytes_in + column * copy.element_bytes
                    address = self._argument(copy.source, bytes_in)
                return (
                    device_command(
                        mvin,
                        dram_address=address,
                        local=(flags, to_operand(tile_row)),
                        cols=_field(n_columns),
                        rows=_field(n_rows),
                    ),
                )

            if transfer.blocks * dim <= widest:  # one command moves them all
                return command(Linear(), columns)
            return _chunks(Linear(), columns, widest, command, fresh)

        return _chunks(first, end, dim, one_row_piece, fresh)

    def _store(self, copy: Store, transfer: Transfer, fresh: FreshLoop) -> tuple[Node, ...]:
        flags = _flags(copy.accumulator, full_width=copy.full_width)
        Mvout(dram_address=0, local=flags, cols=1, rows=1).validate(self.config)

        dim = self.config.dim
        widest = max_store_columns(copy, self.config)

        def one_row_piece(row: Linear, n_rows: Linear) -> tuple[Node, ...]:
            def command(column: Linear, n_columns: Linear) -> tuple[Node, ...]:
                bytes_in = transfer.dram_bytes + row * transfer.row_bytes
                bytes_in = bytes_in + column * copy.element_bytes
                # Blocks lie dim rows apart, so columns and rows count alike.
                return (
                    device_command(
                        Mvout,
                        dram_address=self._argument(copy.target, bytes_in),
                        local=(flags, to_operand(transfer.tile_row + row + column)),
                        cols=_field(n_columns),
                        rows=_field(n_rows),
                    ),
                )

            if transfer.blocks * dim <= widest:
                return command(Linear(), transfer.columns)
            return _chunks(Linear(), transfer.columns, widest, command, fresh)

        first, end = transfer.first_row, transfer.end_row
        valid = _chunks(first, end, dim, one_row_piece, fresh)
        return _under(transfer.guards, valid, (), fresh)

    def _pooling_store(self, copy: Store, transfer: Transfer) -> tuple[Node, ...]:
        """One mvout for all windows of an image tile."""
        walk = pooled_walk(copy, transfer)
        assert copy.pooling is not None
        setting = ConfigSt(
            stride_bytes=walk.pixel_bytes,
            scale=copy.scale,
            activation=int(copy.relu),
            pool_stride=walk.pool_stride,
            pool_size=copy.pooling.size,
            **walk.counts,
        )
        flags = _flags(copy.accumulator)
        ids = [loop.loop_id for loop in walk.loops]
        command = device_command(
            Mvout,
            dram_address=self._argument(copy.target, transfer.dram_bytes.without(*ids)),
            local=(flags, to_operand(transfer.tile_row.without(*ids))),
            cols=_field(transfer.columns),
            rows=0,
        )
        before = self.settings.other(setting)
        outer = tuple(loop for loop in transfer.outer if loop.loop_id not in ids)
        return (*before, *nested(outer, (command,)))

    # ---- the array ----------------------------------------------------------------------

    def gemm(
        self, step: ArrayStep, loops: tuple[LoopExtent, ...], fresh: FreshLoop
    ) -> tuple[Node, ...]:
        """Preloads and computes of a nest."""
        setting = _array_setting(step.row_step)
        return (*self.settings.other(setting), *array_steps(step, loops, self.config.dim, fresh))

    # ---- settings -----------------------------------------------------------------------

    def _load_id(self, copy: Load, transfer: Transfer) -> tuple[int, tuple[Node, ...]]:
        if copy.source is None:
            return self.settings.any_load()
        return self.settings.load(
            _load_setting(transfer.row_bytes, transfer.block_rows, copy.scale, copy.shrunk)
        )

    def _argument(self, name: str | None, offset_bytes: Linear) -> Operand:
        assert name is not None
        return Operand.argument(self.arguments[name], to_operand(offset_bytes))


@lru_cache(maxsize=256)
def _load_setting(stride_bytes: int, block_stride: int, scale: float, shrunk: bool) -> ConfigLd:
    return ConfigLd(
        stride_bytes=stride_bytes, block_stride=block_stride, scale=scale, shrunk=shrunk
    )


@lru_cache(maxsize=256)
def _store_setting(stride_bytes: int, scale: float, relu: bool) -> ConfigSt:
    return ConfigSt(stride_bytes=stride_bytes, scale=scale, activation=int(relu))


@lru_cache(maxsize=256)
def _array_setting(a_stride: int) -> ConfigEx:
    return ConfigEx(weight_stationary=True, a_stride=a_stride)


@lru_cache(maxsize=256)
def _flags(accumulator: bool, accumulate: bool = False, full_width: bool = False) -> LocalAddress:
    """What is said of a row besides its number."""
    return LocalAddress(0, accumulator=accumulator, accumulate=accumulate, full_width=full_width)


def _chunks(
    first: Linear,
    end: Linear,
    limit: int,
    piece: Callable[[Linear, Linear], tuple[Node, ...]],
    fresh: FreshLoop,
) -> tuple[Node, ...]:
    """``piece(start, count)`` over ``first`` to ``end`` in counts of at most ``limit``."""
    length = end - first
    if length.is_const:
        whole, rest = divmod(max(length.const, 0), limit)
        nodes: tuple[Node, ...] = ()
        if whole == 1:
            nodes = piece(first, Linear(limit))
        elif whole > 1:
            loop = fresh()
            body = piece(first + Linear.loop(loop) * limit, Linear(limit))
            nodes = (Loop(loop, expr.const(whole), body),)
        if rest:
            nodes += piece(first + whole * limit, Linear(rest))
        return nodes
    loop = fresh()
    start = first + Linear.loop(loop) * limit
    count = combine("min", Linear(limit), end - start)
    pieces = combine("floordiv", length + (limit - 1), Linear(limit))
    return (Loop(loop, to_expr(pieces), piece(start, count)),)


def _under(
    guards: tuple[Linear, ...],
    valid: tuple[Node, ...],
    otherwise: tuple[Node, ...],
    fresh: FreshLoop,
) -> tuple[Node, ...]:
    """``valid`` where all guards are >= 0, else ``otherwise``."""
    if not guards:
        return valid
    condition: Expr = expr.ONE
    for guard in guards:
        condition = expr.logical_and(condition, expr.le(0, to_expr(guard)))
    nodes: tuple[Node, ...] = (Loop(fresh(), condition, valid),) if valid else ()
    if otherwise:
        nodes += (Loop(fresh(), expr.logical_not(condition), otherwise),)
    return nodes


def _field(form: Linear) -> Any:
    return form.const if form.is_const else to_operand(form)
