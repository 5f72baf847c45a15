"""MetaSchedule's builder for the device: a candidate becomes a program file.

No host compiler takes part: the program is what a server runs.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tvm.ir import IRModule
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms

from ..codegen_tir import CodegenError, DoesNotFit, build
from ..device import DeviceConfig
from ..topi.definition import to_json
from .failure import BUILD_ERROR, DOES_NOT_FIT, Failure
from .workload import measured_by

PROGRAM_FILE = "program.npu"
OPERATOR_FILE = "operator.json"
PACKINGS_FILE = "packings.json"


@derived_object
class NpuBuilder(ms.builder.PyBuilder):
    """Compiles the candidates of `workload_module` and `function_workload` workloads.

    An artifact is a program file in a folder of its own in `folder`, since MetaSchedule's clean-up
    deletes the folder it lies in. Error messages begin with their kind, as `str(Failure)` does.
    """

    def __init__(self, config: DeviceConfig, folder: Path) -> None:
        super().__init__()
        self._config = config
        self._folder = folder

    def build(
        self, build_inputs: Sequence[ms.builder.BuilderInput]
    ) -> list[ms.builder.BuilderResult]:
        return [self._build_one(item.mod) for item in build_inputs]

    def _build_one(self, mod: IRModule) -> ms.builder.BuilderResult:
        computed = measured_by(mod)
        try:
            program, packed = build(mod["main"], self._config, computed.name)
        except DoesNotFit as error:
            return ms.builder.BuilderResult(None, str(Failure(DOES_NOT_FIT, str(error))))
        except CodegenError as error:
            return ms.builder.BuilderResult(None, str(Failure(BUILD_ERROR, str(error))))
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        (folder / OPERATOR_FILE).write_text(to_json(computed), encoding="utf-8")
        layouts = json.dumps({name: packing.to_json() for name, packing in packed.items()})
        (folder / PACKINGS_FILE).write_text(layouts, encoding="utf-8")
        (folder / PROGRAM_FILE).write_bytes(program.to_bytes())
        return ms.builder.BuilderResult(str(folder / PROGRAM_FILE), None)
