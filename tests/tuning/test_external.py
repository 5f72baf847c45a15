"""Measuring over a server whose device is a command, which misbehaves."""

from __future__ import annotations

import random
import time

import pytest
from external.fake_runner import BEHAVIOURS
from fake_device import RUNNER, FakeDevice, sleepers

from npu_target.device import preset
from npu_target.topi import Add
from npu_target.tuning.pool import DevicePool
from npu_target.tuning.session import Job
from rpc_server.tracker_client import NoDevice, TrackerClient, device_key, wait_for_servers

pytestmark = pytest.mark.rpc

CONFIG = preset("gemmini-16x16")
OPERATOR = Add(9, 13, 16).canonical()


@pytest.fixture(scope="module")
def fake(tmp_path_factory) -> FakeDevice:
    device = FakeDevice(tmp_path_factory.mktemp("fake"))
    device.computes(OPERATOR, CONFIG)
    return device


@pytest.fixture(scope="module")
def tracker(fake):
    with fake.served() as address:
        yield address


@pytest.fixture
def pool(tracker, tmp_path):
    wait_for_servers(tracker, device_key(CONFIG, RUNNER), 1, 60)
    with DevicePool(tracker, CONFIG, tmp_path / "output.log", runner=RUNNER) as running:
        yield running


@pytest.fixture
def job(add_program):
    def make(timeout_seconds: float = 60.0) -> Job:
        program = add_program(OPERATOR, CONFIG)
        return Job(program.to_bytes(), program.name, OPERATOR, 0, timeout_seconds)

    return make


@pytest.mark.long
def test_clients_do_not_mix_them_up(tracker, tmp_path):
    wait_for_servers(tracker, device_key(CONFIG, RUNNER), 1, 60)
    with TrackerClient(tracker) as client:
        assert list(client.servers()) == [f"{CONFIG.name}-{CONFIG.hash}@{RUNNER}"]
        assert client.require(CONFIG, RUNNER) == 1
        for other in ("", "verilator"):
            with pytest.raises(NoDevice, match=f"it has: 1 x .*@{RUNNER}; start one with"):
                client.require(CONFIG, other)


@pytest.mark.long
def test_whatever_it_does_costs_one_measurement(fake, pool, job):
    """And says what it was; the session goes on."""
    hows = [how for how in BEHAVIOURS for _ in range(2)]
    random.Random(1).shuffle(hows)
    fake.behaves(hows)
    lost = 0
    for how in hows:
        outcome = pool.submit(job(3.0 if how == "hang" else 60.0)).result(90)
        lost += outcome.session_lost
        kind = outcome.failure and outcome.failure.kind
        assert kind == BEHAVIOURS[how], (how, outcome)
        if kind is None:
            cycles = outcome.seconds * CONFIG.clock_khz * 1e3
            assert cycles == pytest.approx(round(cycles)) and 1000 <= round(cycles) < 2000
        else:
            assert outcome.failure.message and "\n" not in outcome.failure.message
    assert lost == 0


def test_a_run_whose_client_has_gone_is_ended(fake, tracker, pool, job):
    fake.behaves(["hang"])
    pool.submit(job(500.0))
    _wait_until(lambda: sleepers(fake.answer), 20)
    pool.close()
    _wait_until(lambda: not sleepers(fake.answer), 20)
    wait_for_servers(tracker, device_key(CONFIG, RUNNER), 1, 20)


def _wait_until(condition, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
