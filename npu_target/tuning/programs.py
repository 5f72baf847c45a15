"""Programs that were compiled once already, by the structure of their scheduled function."""

from __future__ import annotations

import threading
from collections import OrderedDict

import tvm_ffi
from tvm.tirx import PrimFunc

from ..program import Program

# The search compiles a few times as many candidates as it picks from.
_MOST_PROGRAMS = 1024


class CompiledPrograms:
    """The latest programs, for whoever compiles the same function next. Safe between threads."""

    def __init__(self) -> None:
        self._programs: OrderedDict[int, Program] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, func: PrimFunc, program: Program) -> None:
        key = tvm_ffi.structural_hash(func)
        with self._lock:
            self._programs[key] = program
            while len(self._programs) > _MOST_PROGRAMS:
                self._programs.popitem(last=False)

    def get(self, func: PrimFunc) -> Program | None:
        key = tvm_ffi.structural_hash(func)
        with self._lock:
            return self._programs.get(key)
