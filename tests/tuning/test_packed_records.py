"""A layout is part of a record: it comes back with the schedule, in TVM's own database too."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tvm
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from npu_target.device import preset
from npu_target.device_api import create_module, last_stats
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.intrin import PACKED
from npu_target.passes.packings import packings
from npu_target.topi import Matmul
from npu_target.tuning.candidate import RecordForm
from npu_target.tuning.compiling import Compiled, CompileJob, compile_trace
from npu_target.tuning.expected import expected_output, sample_inputs
from npu_target.tuning.header import Header
from npu_target.tuning.log import open_log
from npu_target.tuning.pool import DevicePool
from npu_target.tuning.schedules import tuned_schedule
from npu_target.tuning.search import point_space
from npu_target.tuning.session import Job
from npu_target.tuning.workload import workload_module
from rpc_server.local import LocalServers

CONFIG = preset("gemmini-16x16")
OPERATOR = Matmul(1, 24, 40, 200).canonical()
HEADER = Header.of(CONFIG, "packed", "")


def candidates(packed: bool, count: int) -> list[tuple[object, Compiled]]:
    """Traces of the space, with or without a layout, and their programs."""
    space = point_space(OPERATOR, CONFIG, "both", 1, random.Random(7))
    found: list[tuple[object, Compiled]] = []
    for point in space.draw(500):
        trace = space.trace(point)
        if (PACKED in str(trace)) is not packed:
            continue
        compiled = compile_trace(CompileJob(OPERATOR, CONFIG, trace))
        if isinstance(compiled, Compiled):
            found.append((trace, compiled))
        if len(found) == count:
            return found
    raise AssertionError(f"only {len(found)} candidates")


def test_a_record_brings_its_layout_back(tmp_path):
    mod = workload_module(OPERATOR, CONFIG)
    form = RecordForm.of(mod, CONFIG)
    ((plain, without),) = candidates(packed=False, count=1)
    ((trace, compiled),) = candidates(packed=True, count=1)
    assert without.packings == {} and list(compiled.packings) == ["b"]
    for number, (entry, seconds) in enumerate(((plain, 2.0), (trace, 1.0))):
        with open_log(tmp_path, HEADER) as log:
            entry_of = {"task": OPERATOR.name, "cycles": seconds, "program": None}
            log.add_json(mod, form.record(entry, seconds), entry_of)
            schedule = tuned_schedule(OPERATOR, CONFIG, log)
        wanted = without.packings if number == 0 else compiled.packings
        assert packings(schedule.mod["main"], CONFIG) == wanted
    database = ms.database.JSONDatabase(work_dir=str(tmp_path))
    record = database.get_top_k(database.commit_workload(mod), 1)[0]
    schedule = Schedule(mod)
    record.trace.apply_to_schedule(schedule, remove_postproc=False)
    assert packings(schedule.mod["main"], CONFIG) == compiled.packings


def test_equal_programs_on_other_layouts_are_others():
    digests = {compiled.digest for _, compiled in candidates(packed=True, count=6)}
    assert len(digests) > 1


@pytest.mark.long
@pytest.mark.rpc
def test_candidates_are_measured_on_packed_weights(tmp_path):
    """Of several layouts in turn, and none, on one server."""
    found = candidates(packed=True, count=2) + candidates(packed=False, count=1)
    inputs = sample_inputs(OPERATOR, 5)
    wanted = expected_output(OPERATOR, inputs, NUMBERS)
    with (
        LocalServers(CONFIG, 1, tmp_path) as servers,
        DevicePool(servers.tracker, CONFIG, tmp_path / "output.log") as pool,
    ):
        for _, compiled in (*found, *found):
            layouts = compiled.packings
            job = Job(compiled.program, OPERATOR.name, OPERATOR, 5, 60.0, packings=layouts)
            outcome = pool.submit(job).result(60)
            assert outcome.failure is None
            arrays = [
                layouts[name].pack(array) if name in layouts else array
                for name, array in inputs.items()
            ]
            out = np.zeros_like(wanted)
            tensors = [tvm.runtime.tensor(array) for array in (*arrays, out)]
            create_module({OPERATOR.name: compiled.program})[OPERATOR.name](*tensors)
            np.testing.assert_array_equal(tensors[-1].numpy(), wanted)
            cycles = outcome.seconds * CONFIG.clock_khz * 1e3
            assert cycles == pytest.approx(last_stats().cycles)
