"""A context for TVM's own tuning loop, which `builder.py` and `runner.py` are for."""

from __future__ import annotations

import logging

from tvm.ir import IRModule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.logging import get_logging_func
from tvm.target import Target


class NpuTuneContext(ms.TuneContext):
    """TVM's TuneContext without what its constructor does first: parsing the tensor intrinsics of
    all other devices, which takes many seconds."""

    def __init__(
        self,
        mod: IRModule,
        target: Target,
        space_generator: ms.SpaceGenerator,
        search_strategy: ms.SearchStrategy,
        task_name: str,
        num_threads: int,
        rand_state: int,
        logger: logging.Logger,
    ) -> None:
        self.__init_handle_by_constructor__(
            ms._ffi_api.TuneContext,
            mod,
            target,
            space_generator,
            search_strategy,
            task_name,
            num_threads,
            rand_state,
            get_logging_func(logger),
        )
        ms._ffi_api.TuneContextInitialize(self)
