"""MetaSchedule's builder for the device: a candidate becomes a program file.

No host compiler takes part: the program is what a server runs.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tvm.ir import IRModule
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms

from ..codegen_tir import CodegenError, DoesNotFit, build_program
from ..config import NpuConfig
from ..program import Program
from ..topi import Operator
from .failure import BUILD_ERROR, DOES_NOT_FIT, TIMED_OUT, Failure
from .programs import CompiledPrograms
from .worker_process import WorkerDied, WorkerError, WorkerProcess, WorkerTimeout
from .workload import operator_of, to_json

PROGRAM_FILE = "program.npu"
OPERATOR_FILE = "operator.json"


def compile_candidate(mod: IRModule, config: NpuConfig, folder: Path) -> Failure | None:
    """Compile a scheduled workload into `folder`: program.npu and operator.json.

    Returns what is wrong with the candidate, or None.
    """
    operator = operator_of(mod)
    try:
        program = build_program(mod["main"], config, operator.name)
    except DoesNotFit as error:
        return Failure(DOES_NOT_FIT, str(error))
    except CodegenError as error:
        return Failure(BUILD_ERROR, str(error))
    write_artifact(program, operator, folder)
    return None


def write_artifact(program: Program, operator: Operator, folder: Path) -> None:
    """What a runner needs of a candidate: program.npu and operator.json."""
    (folder / PROGRAM_FILE).write_bytes(program.to_bytes())
    (folder / OPERATOR_FILE).write_text(to_json(operator), encoding="utf-8")


@derived_object
class NpuBuilder(ms.builder.PyBuilder):
    """Compiles the candidates of `workload_module` workloads, several at a time, unless they are
    among `programs` already.

    An artifact is a program file in a folder of its own, since MetaSchedule's clean-up deletes
    the folder it lies in. Error messages begin with their kind, as `str(Failure)` does. What the
    compiling processes print goes to `output_file`. Call `close` at the end.
    """

    def __init__(
        self,
        config: NpuConfig,
        output_file: Path,
        programs: CompiledPrograms | None = None,
        workers: int | None = None,
        timeout_seconds: float = 60.0,
    ) -> None:
        super().__init__()
        self._programs = programs or CompiledPrograms()
        self._config = config
        self._timeout_seconds = timeout_seconds
        self._output_file = output_file
        self.size = workers or os.cpu_count() or 1
        self._folder = Path(tempfile.mkdtemp(prefix="npu-build-"))
        self._workers: list[WorkerProcess] = []
        self._own = threading.local()
        self._threads = ThreadPoolExecutor(self.size, initializer=self._start_worker)

    def build(
        self, build_inputs: Sequence[ms.builder.BuilderInput]
    ) -> list[ms.builder.BuilderResult]:
        return list(self._threads.map(self._build_one, [item.mod for item in build_inputs]))

    def close(self) -> None:
        """End the compiling processes and delete what artifacts are left."""
        for worker in self._workers:
            worker.stop()
        self._threads.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start_worker(self) -> None:
        self._own.worker = WorkerProcess(self._output_file)
        self._workers.append(self._own.worker)

    def _build_one(self, mod: IRModule) -> ms.builder.BuilderResult:
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        program = self._programs.get(mod["main"])
        if program is not None:
            write_artifact(program, operator_of(mod), folder)
            return ms.builder.BuilderResult(str(folder / PROGRAM_FILE), None)
        try:
            failure = self._own.worker.call(
                compile_candidate, mod, self._config, folder, timeout_seconds=self._timeout_seconds
            )
        except WorkerTimeout:
            failure = Failure(TIMED_OUT, f"not compiled in {self._timeout_seconds:g} s")
        except WorkerDied as error:
            failure = Failure(BUILD_ERROR, f"the compiler ended: {error}")
        except WorkerError as error:
            failure = Failure(BUILD_ERROR, f"{error.kind}: {error.text.strip()}")
        if failure is None:
            return ms.builder.BuilderResult(str(folder / PROGRAM_FILE), None)
        shutil.rmtree(folder, ignore_errors=True)
        return ms.builder.BuilderResult(None, str(failure))
