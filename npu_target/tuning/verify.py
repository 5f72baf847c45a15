"""The search's post-processor: a candidate that cannot run is rejected before it is measured."""

from __future__ import annotations

from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from ..codegen_tir import CodegenError, DoesNotFit, build_program
from ..config import NpuConfig
from .programs import CompiledPrograms
from .workload import operator_of


@derived_object
class VerifyProgram(ms.postproc.PyPostproc):
    """Accepts schedules whose tiles fit the device's memories and whose statements are commands.

    Their programs are kept in `programs`, so that a builder finds those that get measured.
    """

    def __init__(self, config: NpuConfig, programs: CompiledPrograms) -> None:
        super().__init__()
        self.config = config
        self.programs = programs

    def _initialize_with_tune_context(self, context: Any) -> None:
        pass

    def apply(self, sch: Schedule) -> bool:
        """Whether the schedule compiles for the device."""
        func = sch.mod["main"]
        if self.programs.get(func) is not None:
            return True
        try:
            program = build_program(func, self.config, operator_of(sch.mod).name)
        except (DoesNotFit, CodegenError):
            return False
        self.programs.add(func, program)
        return True

    def clone(self) -> VerifyProgram:
        """A post-processor for another search thread."""
        return VerifyProgram(self.config, self.programs)
