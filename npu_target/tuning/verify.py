"""The post-processor of the search: a candidate that cannot run is rejected before it is measured."""

from __future__ import annotations

from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from ..codegen_tir import CodegenError, DoesNotFit, build_program
from ..config import NpuConfig


@derived_object
class VerifyProgram(ms.postproc.PyPostproc):
    """Accepts schedules whose tiles fit the device's memories and whose statements are commands."""

    def __init__(self, config: NpuConfig) -> None:
        super().__init__()
        self.config = config

    def _initialize_with_tune_context(self, context: Any) -> None:
        pass

    def apply(self, sch: Schedule) -> bool:
        """Whether the schedule compiles for the device."""
        try:
            build_program(sch.mod["main"], self.config, "candidate")
        except (DoesNotFit, CodegenError):
            return False
        return True

    def clone(self) -> VerifyProgram:
        """A post-processor for another search thread."""
        return VerifyProgram(self.config)
