"""Gemmini's part of the compilation of a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.tirx import BufferStore

from ...codegen.constant_rows import ConstantRows
from ...codegen.operations import CopyOperation, Engine, LoopIds
from ...codegen.placed import Placed
from ...codegen.steps import Step
from ...device import Memories
from ...device.emission import Emission, Made
from ...passes.copies import Load, Store
from ...passes.linear import constant
from ...passes.transfers import Transfer
from ...program import Constant, Node
from .config import GemminiConfig
from .copies import CopyOperations
from .engine_cycles import array_latency_cycles, store_latency_cycles
from .gemm import array_setting
from .settings import DeviceSettings
from .store_settings import without_repeated


class GemminiEmission(Emission):
    """MVIN, MVOUT, preloads and computes, in phases of settings.  The hardware itself makes
    commands wait for each other."""

    config: GemminiConfig

    def __init__(
        self, config: GemminiConfig, arguments: Sequence[str], ids: LoopIds, func: tirx.PrimFunc
    ) -> None:
        super().__init__(config, arguments, ids, func)
        self.settings = DeviceSettings(config)
        source = _shrunk_source(func, config.memories)
        shrunk = None
        if source is not None:
            shrunk = str(source.name), math.prod(constant(extent) for extent in source.shape)
        self._rows = ConstantRows(len(arguments), config.mvin_max_cols)
        self._copies = CopyOperations(
            config, self.arguments, self.settings, ids, self._rows, shrunk
        )

    @property
    def queue_entries(self) -> Mapping[Engine, int]:
        config = self.config
        return {Engine.LOAD: config.ld_queue_entries, Engine.STORE: config.st_queue_entries}

    @property
    def store_latency_cycles(self) -> float:
        return array_latency_cycles(self.config) + store_latency_cycles(self.config)

    def copies(self, copy: Load | Store, transfer: Transfer) -> list[CopyOperation]:
        return self._copies.of(copy, transfer)

    def before_steps(self, step: Step) -> tuple[Node, ...]:
        return self.settings.other(array_setting(step.operands[0].row_step))

    def whole(self, make: Callable[[], Made]) -> tuple[tuple[Node, ...], Made] | None:
        return self.settings.whole(make)

    def synchronized(self, placed: Sequence[Placed]) -> Sequence[Placed]:
        return without_repeated(placed)

    @property
    def constants(self) -> tuple[Constant, ...]:
        return self._rows.constants

    def phase(self, make: Callable[[], Made]) -> tuple[tuple[Node, ...], Made]:
        return self.settings.phase(make)


def _shrunk_source(func: tirx.PrimFunc, memories: Memories) -> tirx.Buffer | None:
    """The argument of which a function loads elements of inputs for sums, if there is one."""
    arguments, found = set(func.params), []

    def visit(store: BufferStore) -> None:
        def visit_load(load: TensorLoad) -> None:
            if load.source in arguments and str(load.source.dtype) == memories.inputs.dtype:
                found.append(load.source)

        if store.buffer.scope() == memories.sums.scope:
            tvm_ffi.structural_walk(store.value, (TensorLoad, visit_load))

    tvm_ffi.structural_walk(func.body, (BufferStore, visit))
    return found[0] if found else None
