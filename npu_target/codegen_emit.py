"""Commands of a program, and the device settings that they rely on.

Settings (strides, scales, windows) are state of the device.  As long as a program needs no more
of them than the device holds at once, they are made before everything else: no configuration
command inside a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import expr
from .config import NpuConfig
from .expr import Expr
from .isa import (
    GARBAGE,
    ComputeAccumulated,
    ComputePreloaded,
    ConfigEx,
    ConfigLd,
    ConfigSt,
    DeviceCommand,
    LocalAddress,
    Mvout,
    Preload,
    mvin_class,
)
from .passes.copies import Load, Store
from .passes.linear import Atom, Linear, combine, to_expr
from .passes.pooling import pooled_walk
from .passes.transfers import LoopExtent, Transfer, max_load_columns
from .program import Command, Loop, Node, Operand, device_command

FreshLoop = Callable[[], int]
_LOAD_SETTINGS = 3


@dataclass(frozen=True)
class _LoadSetting:
    stride_bytes: int
    block_stride: int
    scale: float
    shrunk: bool


class Emitter:
    """Makes commands and collects the settings they need."""

    def __init__(
        self, config: NpuConfig, arguments: Sequence[str], configure_each_copy: bool = False
    ) -> None:
        self.config = config
        self.arguments = {name: index for index, name in enumerate(arguments)}
        self.configure_each_copy = configure_each_copy
        self.loads: list[_LoadSetting] = []
        self.stores: list[ConfigSt] = []
        self.steps: list[ConfigEx] = []

    @property
    def settings_fit(self) -> bool:
        """Whether the device can hold all settings of the program at once."""
        counts = (len(self.loads), len(self.stores), len(self.steps))
        return all(n <= most for n, most in zip(counts, (_LOAD_SETTINGS, 1, 1), strict=True))

    def settings(self) -> tuple[Node, ...]:
        """The settings that hold for the whole program; none if each copy makes its own."""
        if self.configure_each_copy:
            return ()
        any_load = _LoadSetting(0, self.config.dim, 1.0, shrunk=False)
        loads = [
            self._config_ld(setting, id) for id, setting in enumerate(self.loads or [any_load])
        ]
        return (
            *(self._constant_command(config) for config in self.steps),
            *loads,
            *(self._constant_command(config) for config in self.stores),
        )

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
            before = self._setting(self._config_st(copy, transfer), self.stores)
            body = self._store(copy, transfer, fresh)
        return (*before, *_around(transfer.outer, body))

    def _load(self, copy: Load, transfer: Transfer, id: int, fresh: FreshLoop) -> tuple[Node, ...]:
        rows, all_columns = Linear(transfer.rows), Linear(transfer.blocks * self.config.dim)
        nothing = Linear()

        def zeros(first: Linear, end: Linear) -> tuple[Node, ...]:
            if copy.accumulate:
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
        return _under(transfer.guards, valid, zeros(nothing, rows), fresh)

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
        flags = LocalAddress(0, accumulator=copy.accumulator, accumulate=copy.accumulate)

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
                        local=(flags, _operand(tile_row)),
                        cols=_field(n_columns),
                        rows=_field(n_rows),
                    ),
                )

            if transfer.blocks * dim <= widest:  # one command moves them all
                return command(Linear(), columns)
            return _chunks(Linear(), columns, widest, command, fresh)

        return _chunks(first, end, dim, one_row_piece, fresh)

    def _store(self, copy: Store, transfer: Transfer, fresh: FreshLoop) -> tuple[Node, ...]:
        flags = LocalAddress(0, accumulator=copy.accumulator, full_width=copy.full_width)
        Mvout(dram_address=0, local=flags, cols=1, rows=1).validate(self.config)

        def command(row: Linear, n_rows: Linear) -> tuple[Node, ...]:
            return (
                device_command(
                    Mvout,
                    dram_address=self._argument(
                        copy.target, transfer.dram_bytes + row * transfer.row_bytes
                    ),
                    local=(flags, _operand(transfer.tile_row + row)),
                    cols=_field(transfer.columns),
                    rows=_field(n_rows),
                ),
            )

        first, end = transfer.first_row, transfer.end_row
        valid = _chunks(first, end, self.config.dim, command, fresh)
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
        flags = LocalAddress(0, accumulator=copy.accumulator)
        ids = [loop.loop_id for loop in walk.loops]
        command = device_command(
            Mvout,
            dram_address=self._argument(copy.target, transfer.dram_bytes.without(*ids)),
            local=(flags, _operand(transfer.tile_row.without(*ids))),
            cols=_field(transfer.columns),
            rows=0,
        )
        before = self._setting(setting, self.stores)
        outer = tuple(loop for loop in transfer.outer if loop.loop_id not in ids)
        return (*before, *_around(outer, (command,)))

    # ---- the array ----------------------------------------------------------------------

    def gemm(
        self,
        a: Linear,
        b: Linear,
        c: Linear,
        rows: int,
        row_step: int,
        loops: tuple[LoopExtent, ...],
        fresh: FreshLoop,
    ) -> tuple[Node, ...]:
        """Preloads and computes of a nest.  Weights that the innermost loops do not change are
        preloaded in their first iteration only, which is split off."""
        dim = self.config.dim
        setting = ConfigEx(weight_stationary=True, a_stride=row_step)
        before = self._setting(setting, self.steps)
        keep = len(loops)
        while keep and not b.depends_on(loops[keep - 1].loop_id):
            keep -= 1
        changing, staying = loops[:keep], loops[keep:]
        zero = {loop.loop_id: Linear() for loop in staying}
        into = LocalAddress(0, accumulator=True, accumulate=True)

        def pair(values: dict[int, Linear], new_weights: bool) -> tuple[Node, ...]:
            a_row, c_row = a.substitute(values), c.substitute(values)
            weights: Any = (LocalAddress(0), _operand(b)) if new_weights else GARBAGE
            compute = ComputePreloaded if new_weights else ComputeAccumulated
            return (
                device_command(
                    Preload,
                    bd=weights,
                    bd_cols=dim,
                    bd_rows=dim,
                    c=(into, _operand(c_row)),
                    c_cols=dim,
                    c_rows=rows,
                ),
                device_command(
                    compute,
                    a=(LocalAddress(0), _operand(a_row)),
                    a_cols=dim,
                    a_rows=rows,
                    bd=GARBAGE,
                    bd_cols=dim,
                    bd_rows=rows,
                ),
            )

        nodes = [*pair(zero, new_weights=True)]
        # What follows the first iteration, in the order of the loops: the innermost loop's
        # others, then those of the next loop with all of the innermost, and so on.
        for depth in range(len(staying) - 1, -1, -1):
            if staying[depth].extent == 1:
                continue
            values = dict(zero)
            around = []
            for index, loop in enumerate(staying[depth:], depth):
                first = 1 if index == depth else 0
                values[loop.loop_id] = Linear(first)
                if loop.extent - first > 1:
                    again = LoopExtent(fresh(), loop.extent - first)
                    around.append(again)
                    values[loop.loop_id] = Linear.loop(again.loop_id) + first
            nodes += _around(tuple(around), pair(values, new_weights=False))
        return (*before, *_around(changing, tuple(nodes)))

    # ---- settings -----------------------------------------------------------------------

    def _load_id(self, copy: Load, transfer: Transfer) -> tuple[int, tuple[Node, ...]]:
        if copy.source is None and not self.configure_each_copy:
            return 0, ()  # zeros of one block: any setting does
        setting = _LoadSetting(transfer.row_bytes, transfer.block_rows, copy.scale, copy.shrunk)
        if setting not in self.loads:
            self.loads.append(setting)
        id = self.loads.index(setting) % _LOAD_SETTINGS
        config = self._config_ld(setting, id)
        return id, (config,) if self.configure_each_copy else ()

    def _setting(self, setting: Any, known: list[Any]) -> tuple[Node, ...]:
        if setting not in known:
            known.append(setting)
        config = self._constant_command(setting)
        return (config,) if self.configure_each_copy else ()

    def _config_ld(self, setting: _LoadSetting, id: int) -> Command:
        return self._constant_command(
            ConfigLd(
                stride_bytes=setting.stride_bytes,
                block_stride=setting.block_stride,
                scale=setting.scale,
                shrunk=setting.shrunk,
                id=id,
            )
        )

    def _config_st(self, copy: Store, transfer: Transfer) -> ConfigSt:
        return ConfigSt(
            stride_bytes=transfer.row_bytes, scale=copy.scale, activation=int(copy.relu)
        )

    def _constant_command(self, command: DeviceCommand) -> Command:
        """Raises IsaError where the device cannot do it: a feature it was built without, too."""
        command.validate(self.config)
        funct, rs1, rs2 = command.encode()
        return Command(funct, Operand.of(rs1), Operand.of(rs2))

    def _argument(self, name: str | None, offset_bytes: Linear) -> Operand:
        assert name is not None
        return Operand.argument(self.arguments[name], _operand(offset_bytes))


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


def _around(loops: Sequence[LoopExtent], body: tuple[Node, ...]) -> tuple[Node, ...]:
    for loop in reversed(loops):
        body = (Loop(loop.loop_id, expr.const(loop.extent), body),) if body else ()
    return body


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


def _operand(form: Linear) -> Operand:
    """The running value of a form; what is not linear in the loops becomes an expression."""
    terms: list[Any] = [form.const]
    for key, value in form.items:
        atom = to_expr(Linear(0, ((key, 1),))) if isinstance(key, Atom) else expr.var(key)
        terms.append(Operand.of(atom) * value)
    return Operand.of(*terms)


def _field(form: Linear) -> Any:
    return form.const if form.is_const else _operand(form)
