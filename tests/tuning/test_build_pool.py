"""Builder processes that work, crash and stop."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from npu_target.device import preset
from npu_target.schedule_rules.traces import trace_json
from npu_target.topi import Add
from npu_target.tuning.build_pool import BuildPool
from npu_target.tuning.compiling import Compiled, CompileJob, compile_trace
from npu_target.tuning.failure import BUILD_ERROR, DOES_NOT_APPLY, Failure
from npu_target.tuning.schedules import default_of
from npu_target.tuning.worker_process import WorkerError

CONFIG = preset("gemmini-16x16")
OPERATOR = Add(16, 16, 16).canonical()


def job(trace=None) -> CompileJob:
    trace = trace or trace_json(default_of(OPERATOR, CONFIG).trace)
    return CompileJob(OPERATOR, CONFIG, trace)


@pytest.fixture
def builders():
    """Gives the processes that were started since; other tests may have left some running."""
    own = psutil.Process(os.getpid())
    before = set(own.children())
    return lambda: [process for process in own.children() if process not in before]


def test_programs_are_those_of_this_process_and_a_crash_costs_one(tmp_path, builders):
    with BuildPool(1, tmp_path / "output.log") as pool:
        result = pool.submit(job()).result(60)
        here = compile_trace(job())
        assert isinstance(result, Compiled) and result.program == here.program
        assert result.digest == here.digest and (result.features == here.features).all()
        broken = pool.submit(job([[["NoInstruction", [], [], []]], []])).result(60)
        assert isinstance(broken, Failure) and broken.kind == DOES_NOT_APPLY
        (process,) = builders()
        process.send_signal(signal.SIGSTOP)
        crashed = pool.submit(job())
        process.kill()
        failure = crashed.result(60)
        assert isinstance(failure, Failure) and failure.kind == BUILD_ERROR
        assert OPERATOR.name in failure.message
        assert isinstance(pool.submit(job()).result(60), Compiled)
        # What is a bug is not taken for a candidate that fails.
        with pytest.raises(WorkerError):
            pool.submit(CompileJob(OPERATOR, None, job().trace)).result(60)
    assert not builders()


def test_what_waits_when_it_is_closed_fails(tmp_path):
    pool = BuildPool(1, tmp_path / "output.log")
    futures = [pool.submit(job()) for _ in range(5)]
    pool.close()
    results = [future.result(10) for future in futures]
    assert all(isinstance(result, (Failure, Compiled)) for result in results)
    assert isinstance(results[-1], Failure) and "stopped" in results[-1].message
