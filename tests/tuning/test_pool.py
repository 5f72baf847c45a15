"""Measuring on servers of this machine, with programs written by hand."""

from __future__ import annotations

import os
import signal
import time

import psutil
import pytest
from free_port import free_port
from served import pids_of

from npu_target.device import preset
from npu_target.topi import Add
from npu_target.tuning.pool import DevicePool, DevicesLost
from npu_target.tuning.session import Job
from rpc_server.local import LocalServers
from rpc_server.tracker_client import NoDevice, TrackerError

pytestmark = pytest.mark.rpc

CONFIG = preset("gemmini-16x16")
OPERATOR = Add(9, 13, 16).canonical()
# More commands than a server gets through in the time it is given.
ENDLESS = 10**9


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with LocalServers(CONFIG, 2, tmp_path_factory.mktemp("servers")) as running:
        yield running


@pytest.fixture(scope="module")
def pool(servers, tmp_path_factory):
    output = tmp_path_factory.mktemp("pool") / "output.log"
    with DevicePool(servers.tracker, CONFIG, output, on_lost=servers.replace) as running:
        yield running


@pytest.fixture
def job(add_program):
    def make(seed: int = 0, timeout_seconds: float = 20.0, max_cycles: int = 0, **how) -> Job:
        program = add_program(OPERATOR, CONFIG, **how)
        return Job(program.to_bytes(), program.name, OPERATOR, seed, timeout_seconds, max_cycles)

    return make


@pytest.mark.long
def test_a_right_program_gets_its_simulated_time(pool, job, add_program):
    from npu_target import device_api

    outcome = pool.submit(job()).result(60)
    assert outcome.failure is None
    cycles = outcome.seconds * CONFIG.clock_khz * 1e3
    # The same program, run here: the device is deterministic.
    import numpy as np
    import tvm

    program = add_program(OPERATOR, CONFIG)
    tensors = [tvm.runtime.tensor(np.zeros(arg.shape, np.int8)) for arg in OPERATOR.args]
    device_api.create_module({program.name: program.to_bytes()})[program.name](*tensors)
    assert cycles == pytest.approx(device_api.last_stats().cycles)


def test_both_servers_work_at_the_same_time(pool, job):
    assert pool.size == 2
    outcomes = [pool.submit(job(seed)) for seed in range(20)]
    times = {outcome.result(60).seconds for outcome in outcomes}
    assert len(times) == 1 and None not in times


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"swap": True}, "elements differ, the first at"),
        ({"skip_rows": 1}, "13 of 117 elements differ, the first at [104]"),
    ],
)
def test_a_wrong_result_has_no_time(pool, job, how, says):
    # After a right one: what that one wrote must not pass for this one's.
    right = [pool.submit(job()) for _ in range(4)]
    assert all(outcome.result(60).failure is None for outcome in right)
    outcome = pool.submit(job(**how)).result(60)
    assert outcome.seconds is None
    assert outcome.failure.kind == "wrong_result"
    assert says in outcome.failure.message


def test_a_program_the_device_refuses_is_named_by_the_device(pool, job, add_program):
    small = CONFIG.replace(acc_bank_rows=16)
    program = add_program(OPERATOR, small.replace(dim=4))
    outcome = pool.submit(Job(program.to_bytes(), program.name, OPERATOR, 0, 20.0)).result(60)
    assert outcome.failure.kind not in ("device_lost", "run_error")
    assert pool.submit(job()).result(60).failure is None


def test_a_malformed_program_is_a_failure_of_its_own(pool, job):
    broken = Job(b"NPUPROG\x03" + b"\x00" * 16, "x", OPERATOR, 0, 20.0)
    assert pool.submit(broken).result(60).failure.kind == "bad_program"
    assert pool.submit(job()).result(60).failure is None


def test_too_many_simulated_cycles_time_out(pool, job):
    outcome = pool.submit(job(repeat=1000, max_cycles=500)).result(60)
    assert outcome.failure.kind == "timed_out"
    assert pool.submit(job(repeat=1)).result(60).failure is None


def test_a_hung_candidate_costs_one_measurement(pool, job):
    jobs = [job(), job(repeat=ENDLESS, timeout_seconds=1.0), *[job()] * 10]
    kinds = [pool.submit(j).result(60).failure for j in jobs]
    assert kinds[1].kind == "timed_out" and "1 s" in kinds[1].message
    assert kinds[:1] + kinds[2:] == [None] * 11


def test_a_killed_server_costs_at_most_one_measurement_each(servers, pool, job):
    assert pool.submit(job()).result(60).failure is None
    running = [pool.submit(job(repeat=ENDLESS, timeout_seconds=5.0)) for _ in range(2)]
    time.sleep(1)
    for pid in pids_of(servers):
        for process in psutil.Process(pid).children(recursive=True):
            process.kill()
        os.kill(pid, signal.SIGKILL)
    kinds = [outcome.result(60).failure.kind for outcome in running]
    # The second server may have taken its job only after it was started again.
    assert "device_lost" in kinds and set(kinds) <= {"device_lost", "timed_out"}
    after = [pool.submit(job()).result(60).failure for _ in range(10)]
    assert after == [None] * 10


@pytest.mark.slow
def test_a_server_that_stands_still_costs_one_measurement(servers, pool, job):
    assert pool.submit(job()).result(60).failure is None
    running = [pool.submit(job(repeat=ENDLESS, timeout_seconds=1.5)) for _ in range(2)]
    time.sleep(0.5)
    for pid in pids_of(servers):
        for process in psutil.Process(pid).children(recursive=True):
            process.suspend()
    assert {outcome.result(60).failure.kind for outcome in running} == {"timed_out"}
    after = [pool.submit(job()).result(60).failure for _ in range(10)]
    assert after == [None] * 10


def test_closing_ends_what_waits(servers, tmp_path, job):
    """With a pool that finds no free server: the other one has them."""
    pool = DevicePool(servers.tracker, CONFIG, tmp_path / "output.log")
    running = [pool.submit(job(repeat=ENDLESS, timeout_seconds=3.0)) for _ in range(6)]
    time.sleep(1)
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 2
    assert {outcome.result(0).failure.kind for outcome in running} == {"device_lost"}


@pytest.mark.long
def test_closing_ends_what_is_under_way(tmp_path, job):
    with LocalServers(CONFIG, 1, tmp_path) as servers:
        pool = DevicePool(servers.tracker, CONFIG, tmp_path / "output.log")
        assert pool.submit(job()).result(60).failure is None
        running = [pool.submit(job(repeat=ENDLESS)) for _ in range(2)]
        time.sleep(0.5)
        started = time.monotonic()
        pool.close()
        assert time.monotonic() - started < 2
        assert {outcome.result(0).failure.kind for outcome in running} == {"device_lost"}


def test_no_server_of_the_device(servers, tmp_path):
    other = preset("gemmini-8x8")
    with pytest.raises(NoDevice, match=r"has no server of gemmini-8x8 .* it has: \d x gemmini-16"):
        DevicePool(servers.tracker, other, tmp_path / "output.log")


@pytest.mark.long
def test_when_all_servers_stay_away_the_run_ends(tmp_path, job):
    with LocalServers(CONFIG, 1, tmp_path) as servers:
        with DevicePool(
            servers.tracker, CONFIG, tmp_path / "output.log", patience_seconds=1.0
        ) as pool:
            assert pool.submit(job()).result(60).failure is None
            servers.__exit__()
            lost = pool.submit(job()).result(60)
            assert lost.failure.kind == "device_lost"
            with pytest.raises(DevicesLost, match="no tracker answers at"):
                pool.submit(job()).result(60)


def test_a_tracker_that_is_not_there(tmp_path):
    from rpc_server.address import Address

    address = Address("127.0.0.1", free_port())
    with pytest.raises(TrackerError, match=f"no tracker answers at {address}"):
        DevicePool(address, CONFIG, tmp_path / "output.log")
