"""The operations of copies: LOADs, STOREs with what the ALU does before them, resets of sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...codegen.constant_rows import ConstantRows
from ...codegen.operands import to_number, to_operand
from ...codegen.operations import CopyCommand, CopyKind, CopyOperation, Engine, Guard, LoopIds
from ...codegen.pieces import pieces
from ...device import Memory
from ...device.commands import DeviceCommand
from ...passes.copies import Load as LoadCopy
from ...passes.copies import Store as StoreCopy
from ...passes.errors import CodegenError
from ...passes.linear import Linear, combine
from ...passes.transfers import Transfer
from ...program import Command, Node, Operand, device_command
from . import isa
from .config import VtaConfig
from .micro_ops import Rows
from .numbers import RULE

# Of the fields that count lines and rows.
_MOST_ROWS = (1 << 16) - 1
_INT8_MIN, _INT8_MAX = -128, 127
_NOTHING = Linear()
# The index of a micro-op, until those of the whole program are told apart.
FIRST_MICRO_OP = Operand()


class LoadRows(NamedTuple):
    """A LOAD of rows of a memory; in DRAM they are `stride` rows apart, or follow each other."""

    memory: int
    row_bytes: int  # of DRAM
    buffer_row: int  # rows of a tile that are one of the buffer
    stride: int | None

    def nodes(self, operation: CopyOperation) -> tuple[Node, ...]:
        """See `CopyCommand`."""
        rows = _divided(operation.rows, self.buffer_row)
        return (
            device_command(
                isa.Load,
                memory=self.memory,
                sram_base=to_operand(_divided(operation.row, self.buffer_row)),
                dram_base=_dram_row(operation, self.row_bytes),
                **_lines(rows, self.stride),
            ),
        )


class RepeatRow(NamedTuple):
    """A LOAD of one row of sums; the others become the same by steps, which take less time: 0, and
    the row added."""

    load: LoadRows
    micro_op: Operand = FIRST_MICRO_OP

    def rows(self, operation: CopyOperation) -> Rows:
        """Those that the micro-op names."""
        return Rows(operation.row + 1, operation.row)

    def nodes(self, operation: CopyOperation) -> tuple[Node, ...]:
        """See `CopyCommand`."""
        first = self.load.nodes(operation._replace(rows=Linear(1)))
        others = to_number(operation.rows - 1)
        add = rows_command(isa.Alu, self.micro_op, others, op=isa.ADD)
        return (*first, reset(self.micro_op, others), add)


class ResetRows(NamedTuple):
    """A GEMM that makes sums 0."""

    micro_op: Operand = FIRST_MICRO_OP

    def rows(self, operation: CopyOperation) -> Rows:
        """Those that the micro-op names."""
        return Rows(operation.row)

    def nodes(self, operation: CopyOperation) -> tuple[Node, ...]:
        """See `CopyCommand`."""
        return (reset(self.micro_op, to_number(operation.rows)),)


class StoreRows(NamedTuple):
    """A STORE of sums, which the ALU makes int8 numbers before: shifted by `bits`, clipped."""

    row_bytes: int
    stride: int | None
    bits: int
    relu: bool
    micro_op: Operand = FIRST_MICRO_OP

    def rows(self, operation: CopyOperation) -> Rows:
        """Those that the micro-op names."""
        return Rows(operation.row, operation.row)

    def nodes(self, operation: CopyOperation) -> tuple[Node, ...]:
        """See `CopyCommand`. The STORE waits for the ALU."""
        half = RULE.half(self.bits)
        steps = [(isa.ADD, half)] if half else []
        if self.bits:
            steps.append((isa.SHR, self.bits))
        steps += [(isa.MIN, _INT8_MAX), (isa.MAX, 0 if self.relu else _INT8_MIN)]
        last = len(steps) - 1
        store = device_command(
            isa.Store,
            pop_prev=True,
            memory=isa.OUT,
            sram_base=to_operand(operation.row),
            dram_base=_dram_row(operation, self.row_bytes),
            **_lines(operation.rows, self.stride),
        )
        rows = to_number(operation.rows)
        alu = [
            rows_command(
                isa.Alu,
                self.micro_op,
                rows,
                op=op,
                use_immediate=True,
                immediate=immediate,
                src_factor_in=1,
                push_next=index == last,
            )
            for index, (op, immediate) in enumerate(steps)
        ]
        return (*alu, store)


# Commands that name rows of the accumulator by a micro-op.
Computing = RepeatRow | ResetRows | StoreRows


class CopyOperations:
    """Makes operations of copies. What inputs are filled with is read from the program's `rows`."""

    def __init__(
        self, config: VtaConfig, arguments: Mapping[str, int], rows: ConstantRows, ids: LoopIds
    ) -> None:
        self.config = config
        self.arguments = arguments
        self.rows = rows
        self.ids = ids

    def of(self, copy: LoadCopy | StoreCopy, transfer: Transfer) -> list[CopyOperation]:
        """The operations of one copy, to be issued in this order.

        Raises
        ------
        CodegenError
            for one that the device has no commands for.
        """
        dim = self.config.dim
        if transfer.columns != Linear(dim) or transfer.blocks != 1:
            raise CodegenError(
                f"the device copies whole rows of {dim} columns: the innermost dimension of an "
                f"argument has to be a multiple of {dim}"
            )
        if isinstance(copy, LoadCopy):
            return self._load(copy, transfer)
        return self._store(copy, transfer)

    def _load(self, copy: LoadCopy, transfer: Transfer) -> list[CopyOperation]:
        if copy.accumulate or copy.shrunk or copy.scale != 1.0 or copy.stack is not None:
            raise CodegenError("loads neither add, scale, widen nor stack what they read")
        all_valid = (Guard(transfer.guards),) if transfer.guards else ()
        none_valid = (Guard(transfer.guards, negated=True),) if transfer.guards else ()
        rows = Linear(transfer.rows)
        if copy.source is None:
            return self._filled(copy, transfer, _NOTHING, rows, ())
        first, end = transfer.first_row, transfer.end_row
        return [
            *self._filled(copy, transfer, _NOTHING, combine("min", first, rows), all_valid),
            *self._elements(copy, transfer, first, end, all_valid),
            *self._filled(copy, transfer, combine("max", first, end), rows, all_valid),
            *(self._filled(copy, transfer, _NOTHING, rows, none_valid) if none_valid else ()),
        ]

    def _elements(
        self,
        copy: LoadCopy,
        transfer: Transfer,
        first: Linear,
        end: Linear,
        guards: tuple[Guard, ...],
    ) -> list[CopyOperation]:
        memories, row_bytes = self.config.memories, self.config.dim * copy.element_bytes
        buffer_row, memory = 1, isa.INP if copy.memory == memories.inputs else isa.ACC
        if copy.memory == memories.weights:
            buffer_row, memory = self.config.dim, isa.WGT
            if transfer.row_bytes != row_bytes or not (end - first).is_const:
                raise CodegenError("weights are loaded in blocks that follow each other")
        stride = _stride(transfer, row_bytes)
        dram_row = row_bytes * buffer_row
        command: CopyCommand = LoadRows(memory, dram_row, buffer_row, stride)
        if memory == isa.ACC and stride == 0 and end - first == Linear(transfer.rows):
            command = RepeatRow(LoadRows(memory, dram_row, buffer_row, None))
        engine = Engine.EXECUTE if memory == isa.ACC else Engine.LOAD
        argument = self.arguments[str(copy.source)]
        kind = self._kind(engine, copy.memory, argument, command)
        each = self._row_cycles(row_bytes, stride)
        if isinstance(command, RepeatRow):
            each = 1 + self.config.alu_register_interval_cycles
        made = self._operations(kind, transfer, first, end, guards, each)
        for operation in made:
            _divided(operation.row, buffer_row)
            _divided(operation.dram_bytes, dram_row)
        return made

    def _filled(
        self,
        copy: LoadCopy,
        transfer: Transfer,
        first: Linear,
        end: Linear,
        guards: tuple[Guard, ...],
    ) -> list[CopyOperation]:
        length = end - first
        if length.is_const and length.const <= 0:
            return []
        memories = self.config.memories
        if copy.memory == memories.weights:
            raise CodegenError("weights are elements of an argument, not zeros")
        if copy.memory == memories.sums:
            kind = self._kind(Engine.EXECUTE, copy.memory, None, ResetRows())
            return self._operations(kind, transfer, first, end, guards, 1)
        row_bytes = self.config.dim * copy.element_bytes
        command = LoadRows(isa.INP, row_bytes, 1, 0)
        kind = self._kind(Engine.LOAD, copy.memory, self.rows.argument(copy.fill), command)
        transfer = transfer._replace(dram_bytes=_NOTHING, row_bytes=0)
        each = self._row_cycles(row_bytes, 0)
        return self._operations(kind, transfer, first, end, guards, each)

    def _store(self, copy: StoreCopy, transfer: Transfer) -> list[CopyOperation]:
        if copy.memory != self.config.memories.sums or copy.full_width or copy.pooling is not None:
            raise CodegenError("stores take sums that are requantized, and pool nothing")
        row_bytes = self.config.dim * copy.element_bytes
        stride = _stride(transfer, row_bytes)
        command = StoreRows(row_bytes, stride, RULE.bits(copy.scale), copy.relu)
        kind = self._kind(Engine.STORE, copy.memory, self.arguments[copy.target], command)
        guards = tuple(Guard((guard,)) for guard in transfer.guards)
        first, end = transfer.first_row, transfer.end_row
        each = self._row_cycles(row_bytes, stride)
        made = self._operations(kind, transfer, first, end, guards, each)
        for operation in made:
            _divided(operation.dram_bytes, row_bytes)
        return made

    def _kind(self, engine: Engine, memory: Memory, argument: int | None, command: Any) -> CopyKind:
        dim, is_load = self.config.dim, engine is not Engine.STORE
        return CopyKind(engine, is_load, memory, argument, dim, dim, command)

    def _row_cycles(self, row_bytes: int, stride: int | None) -> float:
        """Of a row; one that lies apart from the next needs a request of its own."""
        beats = row_bytes / (1 << self.config.log_bus_bytes)
        return beats if stride is None else max(2, beats)

    def _operations(
        self,
        kind: CopyKind,
        transfer: Transfer,
        first: Linear,
        end: Linear,
        guards: tuple[Guard, ...],
        row_cycles: float,
    ) -> list[CopyOperation]:
        return [
            CopyOperation(
                kind,
                (*transfer.outer, *row.loops),
                transfer.tile_row + row.start,
                transfer.dram_bytes + row.start * transfer.row_bytes,
                row.length,
                Linear(self.config.dim),
                row.most,
                self.config.dim,
                (*guards, *row.guards),
                self.config.memory_latency_cycles + row.most * row_cycles,
            )
            for row in pieces(first, end, _MOST_ROWS, (0, transfer.rows), self.ids)
        ]


def reset(micro_op: Operand, rows: Any) -> Command:
    """The command that makes so many rows of sums 0."""
    return rows_command(isa.Gemm, micro_op, rows, reset=True)


def rows_command(cls: type[DeviceCommand], micro_op: Operand, rows: Any, **fields: Any) -> Command:
    """A command of steps over rows that follow each other."""
    return device_command(
        cls,
        uop_begin=micro_op,
        uop_end=(micro_op, 1),
        iter_in=rows,
        dst_factor_in=1,
        **fields,
    )


def _lines(rows: Linear, stride: int | None) -> dict[str, Any]:
    """The fields for rows that lie so far apart in DRAM, or follow each other."""
    if stride is None:
        return {"y_size": 1, "x_size": to_number(rows), "x_stride": 0}
    return {"y_size": to_number(rows), "x_size": 1, "x_stride": stride}


def _stride(transfer: Transfer, row_bytes: int) -> int | None:
    """How many rows of DRAM apart a transfer's rows are; None where they follow each other."""
    stride, rest = divmod(transfer.row_bytes, row_bytes)
    if transfer.rows > 1 and (rest or not 0 <= stride <= _MOST_ROWS):
        raise CodegenError(
            f"rows that are {transfer.row_bytes} bytes apart in DRAM: it has to be a multiple of "
            f"{row_bytes}, {_MOST_ROWS} times that at most"
        )
    return None if stride == 1 or transfer.rows == 1 else stride


def _dram_row(operation: CopyOperation, row_bytes: int) -> Operand:
    """The number of the row of DRAM that a copy begins at."""
    assert operation.kind.argument is not None
    rows = to_operand(_divided(operation.dram_bytes, row_bytes))
    return Operand.argument(operation.kind.argument, rows, unit=row_bytes.bit_length() - 1)


def _divided(form: Linear, by: int) -> Linear:
    """A form in units of `by`. Raises CodegenError unless all of its parts are multiples."""
    if by == 1:
        return form
    if form.const % by or any(factor % by for _, factor in form.items):
        raise CodegenError(f"an address that is no multiple of {by}, the size of a row")
    return Linear(form.const // by, tuple([(key, factor // by) for key, factor in form.items]))
