"""VTA's part of the compilation of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm import tirx

from ...codegen.constant_rows import ConstantRows
from ...codegen.operations import CopyOperation, Engine, LoopIds
from ...codegen.placed import Placed, PlacedCopy, PlacedLoop, PlacedNodes, PlacedStep
from ...device.emission import Emission
from ...passes.copies import Load as LoadCopy
from ...passes.copies import Store as StoreCopy
from ...passes.transfers import Transfer
from ...program import Constant, Node, Operand, device_command
from . import isa
from .config import VtaConfig
from .copies import Computing, CopyOperations, LoadRows
from .micro_ops import MicroOps
from .steps import VtaStep
from .tokens import Work, ordered

# Bytes of a micro-op.
_UOP_UNIT = 2


class VtaEmission(Emission):
    """Commands with their micro-ops, which the program loads at its start, and tokens between
    engines where one needs what another does."""

    config: VtaConfig

    def __init__(
        self, config: VtaConfig, arguments: Sequence[str], ids: LoopIds, func: tirx.PrimFunc
    ) -> None:
        super().__init__(config, arguments, ids, func)
        # Where the constants' addresses are.
        self._micro_ops_at = len(arguments)
        self._rows = ConstantRows(self._micro_ops_at + 1, config.dim)
        self._copies = CopyOperations(config, self.arguments, self._rows, ids)
        self._micro_ops = MicroOps(config)

    @property
    def queue_entries(self) -> Mapping[Engine, int]:
        entries = self.config.command_queue_entries
        return {engine: entries for engine in Engine}

    def copies(self, copy: LoadCopy | StoreCopy, transfer: Transfer) -> list[CopyOperation]:
        return self._copies.of(copy, transfer)

    def synchronized(self, placed: Sequence[Placed]) -> Sequence[Placed]:
        """Ordered by tokens, with micro-ops at the start, and FINISH at the end."""
        body = ordered(self._works(placed, {}))
        load = device_command(
            isa.Load,
            memory=isa.UOP,
            sram_base=0,
            dram_base=Operand.argument(self._micro_ops_at, unit=_UOP_UNIT),
            y_size=1,
            x_size=self._micro_ops.number,
        )
        return (PlacedNodes((load,)), *body, PlacedNodes((device_command(isa.Finish),)))

    @property
    def constants(self) -> tuple[Constant, ...]:
        return (self._micro_ops.constant(), *self._rows.constants)

    def _works(self, placed: Sequence[Placed], loops: Mapping[int, int]) -> list[Work]:
        """What is placed inside of `loops`, with its commands."""
        works = []
        for one in placed:
            if isinstance(one, PlacedLoop):
                around = {**loops, one.loop.loop_id: one.loop.extent}
                works.append(Work(loop=one.loop, body=tuple(self._works(one.body, around))))
            elif isinstance(one, PlacedStep):
                nodes = self._step_nodes(one, loops)
                works.append(Work(Engine.EXECUTE, nodes, touched=tuple(one.touched)))
            elif isinstance(one, PlacedCopy):
                works.append(Work(one.engine, self._copy_nodes(one, loops), tuple(one.touched)))
            elif one.made:
                works.append(Work(Engine.EXECUTE, one.made))
        return works

    def _step_nodes(self, placed: PlacedStep, loops: Mapping[int, int]) -> tuple[Node, ...]:
        intrinsic = placed.step.intrinsic
        assert isinstance(intrinsic, VtaStep)
        rows = intrinsic.rows_of(placed.step, placed.row)
        micro_op = self._micro_ops.index(rows, loops)
        return intrinsic.nodes(
            placed.step,
            placed.row,
            placed.rows,
            new_stationary=placed.new_stationary,
            overwrites=placed.overwrites,
            micro_op=micro_op,
        )

    def _copy_nodes(self, placed: PlacedCopy, loops: Mapping[int, int]) -> tuple[Node, ...]:
        operation = placed.operation
        command = operation.kind.command
        if isinstance(command, LoadRows):
            return placed.nodes()
        assert isinstance(command, Computing)
        around = {**loops, **{loop.loop_id: loop.extent for loop in operation.loops}}
        rows, guarded = command.rows(operation), bool(operation.guards)
        micro_op = self._micro_ops.index(rows, around, guarded=guarded)
        kind = operation.kind._replace(command=command._replace(micro_op=micro_op))
        return operation._replace(kind=kind).nodes()
