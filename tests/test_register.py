"""What `import tvm` alone makes known."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOGS = sorted((Path(__file__).parents[1] / "tuning_logs").glob("*/*/header.json"))


def run(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.long
def test_tvms_own_database_reads_the_logs():
    """In a process that asks nothing of this package."""
    folders = [str(header.parent) for header in LOGS]
    printed = run(
        f"""
import tvm
from tvm.s_tir import Schedule
from tvm.s_tir.meta_schedule.database import JSONDatabase
for folder in {folders!r}:
    database = JSONDatabase(work_dir=folder)
    records = database.get_all_tuning_records()
    record = database.get_top_k(records[0].workload, 1)[0]
    schedule = Schedule(record.workload.mod)
    record.trace.apply_to_schedule(schedule, remove_postproc=False)
    print(len(database), "npu.gemm" in schedule.mod.script())
"""
    ).split()
    lines = [len((f.parent / "database_tuning_record.json").open().readlines()) for f in LOGS]
    assert [int(number) for number in printed[::2]] == lines and len(lines) > 2
    assert set(printed[1::2]) == {"True"}


@pytest.mark.long
@pytest.mark.parametrize("module", ["intrin", "step_functions", "device", "target", "tags"])
def test_intrinsics_are_there_whichever_is_imported_first(module):
    printed = run(
        f"import npu_target.{module}, tvm\n"
        "from tvm.s_tir import TensorIntrin\n"
        "for name in ('7x16x16_step2', '8x8x8_step4', '1x32x32_step1'):\n"
        "    description = TensorIntrin.get('npu.gemm_' + name).desc\n"
        "    print([int(extent) for extent in description.params[0].shape])"
    )
    assert printed.splitlines() == ["[13, 16]", "[29, 8]", "[1, 32]"]
