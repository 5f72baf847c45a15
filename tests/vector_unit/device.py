"""A device whose stores pool nothing and which has steps on rows of sums: maxima, and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from npu_target.codegen.operands import to_number, to_operand
from npu_target.codegen.operations import CopyKind, CopyOperation, Engine, Guard
from npu_target.codegen.pieces import pieces
from npu_target.device import (
    DeviceConfig,
    DeviceKind,
    Elementwise,
    ElementwiseStep,
    Features,
    Limits,
    Memories,
    Memory,
    MultiplyStep,
)
from npu_target.device.copy_rules import CopyRules
from npu_target.device.emission import Emission
from npu_target.device.intrinsic import Access, Intrinsic, Operand
from npu_target.device.numbers import Numbers
from npu_target.device.shift_rule import ShiftRule
from npu_target.passes.linear import Linear, combine
from npu_target.program import device_command

from .commands import MOST_ROWS, Fill, Load, Maximum, Multiply, Store

NUMBERS = Numbers(ShiftRule())
MULTIPLY, MAXIMUM, FILL = "vector.multiply", "vector.maximum", "vector.fill"
MULTIPLY_OF_ONE = "vector.multiply_of_one"


@dataclass(frozen=True)
class VectorConfig(DeviceConfig):
    kind: ClassVar[str] = "vector"
    limits: ClassVar[Limits] = Limits(Path(__file__).with_name("limits.def"))

    name: str = "vector-8"
    lanes: int = 8
    input_rows: int = 256
    weight_rows: int = 512
    sum_rows: int = 512
    has_one_memory: bool = False  # that of inputs holds weights as well
    takes_transposed: bool = False  # blocks of weights, a column a row

    @property
    def dim(self) -> int:
        return self.lanes

    @property
    def memories(self) -> Memories:
        def memory(name: str, rows: int, dtype: str) -> Memory:
            return Memory(f"global.vector_{name}", name, rows, rows, self.lanes, dtype)

        inputs = memory("inputs", self.input_rows, "int8")
        weights = memory("weights", self.weight_rows, "int8")
        sums = memory("sums", self.sum_rows, "int32")
        return Memories(inputs, inputs if self.has_one_memory else weights, sums)


class _Step(Intrinsic):
    most_rows = MOST_ROWS

    def sizes(self, rows: int) -> list[tuple[int, int]]:
        whole, rest = divmod(rows, MOST_ROWS)
        return [(MOST_ROWS, whole)] * (whole > 0) + [(rest, 1)] * (rest > 0)

    def cycles(self, blocks: int, rows: int, loaded: int) -> float:
        return blocks * rows


class MultiplyRows(_Step):
    call, n_operands, multiplies = MULTIPLY, 3, True

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        rows, row_step = numbers
        return (
            Operand(Access.READ, rows, row_step),
            Operand(Access.READ, self.config.dim, follows=False),
            Operand(Access.ADD, rows),
        )

    def nodes(self, step, row, rows, *, new_stationary, overwrites):
        a, b, c = step.first_rows
        row_step = step.operands[0].row_step
        return (
            device_command(
                Multiply,
                overwrites=overwrites,
                rows=rows,
                row_step=row_step,
                inputs=to_operand(a + row * row_step),
                weights=to_operand(b),
                sums=to_operand(c + row),
            ),
        )


class MultiplyOfOneMemory(MultiplyRows):
    call = MULTIPLY_OF_ONE


class MaximumRows(_Step):
    call, n_operands = MAXIMUM, 2

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        (rows,) = numbers
        return Operand(Access.COMBINE, rows), Operand(Access.READ, rows)

    def nodes(self, step, row, rows, *, new_stationary, overwrites):
        assert not overwrites, "nothing is added to"
        sums, others = step.first_rows
        return (
            device_command(
                Maximum, rows=rows, sums=to_operand(sums + row), others=to_operand(others + row)
            ),
        )


class FillRows(_Step):
    call, n_operands = FILL, 1

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        rows, _ = numbers
        return (Operand(Access.WRITE, rows),)

    def nodes(self, step, row, rows, *, new_stationary, overwrites):
        assert not overwrites, "nothing is added to"
        (sums,) = step.first_rows
        _, value = step.numbers
        return (device_command(Fill, rows=rows, value=value, sums=to_operand(sums + row)),)


INTRINSICS = (MultiplyRows, MultiplyOfOneMemory, MaximumRows, FillRows)


class VectorCopyRules(CopyRules):
    """One block of columns."""

    def __init__(self, config: VectorConfig) -> None:
        super().__init__(config)
        self.transposed_weights = config.takes_transposed

    def most_load_columns(self, element_bytes: int) -> int:
        return self.config.dim

    def most_store_columns(self, store) -> int:
        return self.config.dim

    def reaches_blocks(self, copy, block_rows: int) -> bool:
        return False


@dataclass(frozen=True)
class _Move:
    make: Any

    def nodes(self, operation):
        return (
            self.make(
                row=to_operand(operation.row),
                rows=to_number(operation.rows),
                cols=to_number(operation.columns),
                dram_address=operation.dram_address(),
            ),
        )


class VectorEmission(Emission):
    """Loads and stores of rows of one block."""

    queue_entries: Mapping[Engine, int] = MappingProxyType({Engine.LOAD: 4, Engine.STORE: 4})

    def copies(self, copy, transfer):
        if copy.memory == self.config.memories.sums and hasattr(copy, "target"):
            shift = -round(math.log2(copy.scale))
            make = partial(
                device_command,
                Store,
                stride_bytes=transfer.row_bytes,
                shift=shift,
                relu=copy.relu,
                is_raw=copy.full_width,
            )
            guards = tuple(Guard((form,)) for form in transfer.guards)
            return self._moves(
                copy, transfer, make, transfer.first_row, transfer.end_row, guards, False
            )
        first, end, rows = transfer.first_row, transfer.end_row, Linear(transfer.rows)
        memories = self.config.memories
        memory = (memories.inputs, memories.weights, memories.sums).index(copy.memory)
        load = partial(device_command, Load, memory=memory)
        zeros = partial(load, is_zero=True, stride_bytes=0)
        if copy.source is None:
            return self._moves(copy, transfer, zeros, Linear(), rows, (), True)
        load = partial(load, stride_bytes=transfer.row_bytes)
        some = (Guard(transfer.guards),) if transfer.guards else ()
        none = (Guard(transfer.guards, negated=True),) if transfer.guards else ()
        before, behind = combine("min", first, rows), combine("max", first, end)
        return [
            *self._moves(copy, transfer, zeros, Linear(), before, some, True),
            *self._moves(copy, transfer, load, first, end, some, True),
            *self._moves(copy, transfer, zeros, behind, rows, some, True),
            *(self._moves(copy, transfer, zeros, Linear(), rows, none, True) if none else ()),
        ]

    def _moves(self, copy, transfer, make, first, end, guards, is_load):
        is_zero = make.keywords.get("is_zero", False)
        argument = None
        if not is_zero:
            argument = self.arguments[copy.source if is_load else copy.target]
        lanes = self.config.dim
        columns = Linear(lanes) if is_zero else transfer.columns
        engine = Engine.LOAD if is_load else Engine.STORE
        kind = CopyKind(engine, is_load, copy.memory, argument, lanes, lanes, _Move(make))
        return [
            CopyOperation(
                kind,
                (*transfer.outer, *piece.loops),
                transfer.tile_row + piece.start,
                transfer.dram_bytes + piece.start * transfer.row_bytes,
                piece.length,
                columns,
                piece.most,
                lanes,
                (*guards, *piece.guards),
                piece.most,
            )
            for piece in pieces(first, end, MOST_ROWS, (0, transfer.rows), self.ids)
        ]


def features(config: VectorConfig) -> Features:
    return Features(
        step=MultiplyStep(MULTIPLY_OF_ONE if config.has_one_memory else MULTIPLY, MOST_ROWS),
        row_elements=config.lanes if config.takes_transposed else 1,
        elementwise=(
            ElementwiseStep(Elementwise.MAX, MAXIMUM),
            ElementwiseStep(Elementwise.FILL, FILL),
        ),
        stores_sums=True,
    )


CONFIG = VectorConfig()
KIND = DeviceKind(
    name="vector",
    config=VectorConfig,
    presets=(CONFIG,),
    commands_at="vector_unit.commands:COMMANDS",
    intrinsics_at="vector_unit.device:INTRINSICS",
    copy_rules_at="vector_unit.device:VectorCopyRules",
    emission_at="vector_unit.device:VectorEmission",
    numbers_at="vector_unit.device:NUMBERS",
    features=features,
    simulator_at="vector_unit.commands:simulate",
    operators=("matmul", "max_pool2d", "global_avg_pool", "add"),
)
