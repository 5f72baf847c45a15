"""A schedule on its way to a measurement, in the plain form that logs and processes exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.ir import IRModule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.schedule import Trace

from ..device import DeviceConfig
from ..schedule_rules.traces import to_plain
from ..target import make_target
from .compiling import Compiled
from .failure import Failure


@dataclass(frozen=True)
class RecordForm:
    """What the tuning records of a workload have in common, in JSON form: target, arguments."""

    target: Any
    arguments: Any

    @classmethod
    def of(cls, mod: IRModule, config: DeviceConfig) -> RecordForm:
        record = ms.database.TuningRecord(
            Trace([], {}),
            ms.database.Workload(mod),
            [1.0],
            make_target(config),
            ms.arg_info.ArgInfo.from_entry_func(mod, remove_preproc=True),
        )
        _, _, target, arguments = to_plain(record.as_json())
        return cls(target, arguments)

    def record(self, trace: Any, seconds: float) -> list[Any]:
        """A tuning record as MetaSchedule's database has it."""
        return [trace, [seconds], self.target, self.arguments]


@dataclass(frozen=True)
class Candidate:
    """A trace in JSON form and what it compiles to."""

    trace: Any
    compiled: Compiled | Failure

    @property
    def digest(self) -> str | None:
        """Equal for equal programs; None for what is none."""
        return None if isinstance(self.compiled, Failure) else self.compiled.digest
