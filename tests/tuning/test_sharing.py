"""Clients that share servers: who waits is told so, and everybody gets on."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import threading
import time

import pytest
from served import pids_of
from tvm.rpc import base

from npu_target.device import preset
from npu_target.topi import Add
from npu_target.tuning.pool import DevicePool, DevicesLost
from npu_target.tuning.session import Job
from rpc_server.local import LocalServers
from rpc_server.tracker_client import TrackerClient, device_key

pytestmark = pytest.mark.rpc

CONFIG = preset("gemmini-16x16")
KEY = device_key(CONFIG)
OPERATOR = Add(9, 13, 16).canonical()
ENDLESS = 10**9


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LocalServers(CONFIG, 1, tmp_path_factory.mktemp("server")) as running:
        yield running


def counts(server):
    with TrackerClient(server.tracker) as client:
        return client.counts(KEY)


@pytest.fixture
def pools(server, tmp_path):
    """Makes clients of the one server, with what each was told."""
    made = []

    def make(**settings):
        output = tmp_path / f"{len(made)}.log"
        while not counts(server).registered:  # it may be about to be
            time.sleep(0.05)
        pool = DevicePool(server.tracker, CONFIG, output, on_lost=server.replace, **settings)
        said = []
        pool.told = said.append
        made.append(pool)
        return pool, said

    yield make
    for pool in made:
        pool.close()


@pytest.fixture
def job(add_program):
    def make(timeout_seconds: float = 20.0, **how) -> Job:
        program = add_program(OPERATOR, CONFIG, **how)
        return Job(program.to_bytes(), program.name, OPERATOR, 0, timeout_seconds)

    return make


@contextlib.contextmanager
def never_idle(pool, job):
    """Has always more to measure than it gets; gives all of it that was submitted."""
    submitted = []
    stop = threading.Event()

    def feed():
        while not stop.is_set():
            waiting = sum(not each.done() for each in submitted[-40:])
            submitted.extend(pool.submit(job(repeat=1000)) for _ in range(40 - waiting))
            time.sleep(0.01)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield submitted
    finally:
        stop.set()
        feeder.join()


def test_one_with_much_to_measure_does_not_starve_another(pools, job):
    busy, _ = pools()
    assert busy.submit(job()).result(60).failure is None
    other, _ = pools()
    with never_idle(busy, job) as many:
        few = [other.submit(job()) for _ in range(20)]
        assert [each.result(60).failure for each in few] == [None] * 20
        # The first gets its turn again, and nothing is lost by changing hands.
        assert busy.submit(job()).result(60).failure is None
    assert len(many) > 40
    assert {each.result(60).failure for each in many} == {None}


@pytest.mark.slow
def test_two_with_much_to_measure_get_about_the_same(pools, job):
    first, second = pools()[0], pools()[0]
    for pool in (first, second):
        assert pool.submit(job()).result(60).failure is None
    with never_idle(first, job) as of_first, never_idle(second, job) as of_second:
        time.sleep(25)
        done = [sum(each.done() for each in given) for given in (of_first, of_second)]
    assert min(done) > 0.25 * max(done), done


@pytest.mark.long
def test_who_waits_is_told_and_waits_longer_than_it_has_patience(pools, job):
    first, _ = pools()
    assert first.submit(job()).result(60).failure is None
    # Between two measurements it may be another's turn, never during one.
    # Long enough for a busy machine to start a client meanwhile.
    long = first.submit(job(repeat=ENDLESS, timeout_seconds=30.0))
    second, said = pools(patience_seconds=5.0)
    waiting = second.submit(job())
    assert long.result(60).failure.kind == "timed_out"
    assert waiting.result(60).failure is None
    assert f"waits for a server of {CONFIG.name}: 1 of 1 is with others" in said
    deadline = time.monotonic() + 10
    while said[-1] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert said[-1] == "" and second._failed is None


def test_a_client_that_has_nothing_to_measure_gives_its_server_back(pools, job):
    idle, _ = pools()
    assert idle.submit(job()).result(60).failure is None
    other, _ = pools()
    assert other.submit(job()).result(30).failure is None
    assert idle.submit(job()).result(30).failure is None


@pytest.mark.long
def test_alone_a_client_keeps_its_session(pools, server, job):
    pool, said = pools()
    assert pool.submit(job()).result(60).failure is None
    said.clear()  # the clients of the test before may have been about to leave
    deadline = time.monotonic() + 10
    with TrackerClient(server.tracker) as client:
        while time.monotonic() < deadline:
            assert pool.submit(job()).result(60).failure is None
            assert client.free_servers(KEY) == 0
            time.sleep(0.5)
    assert not any(said)


@pytest.mark.long
def test_a_client_that_died_in_line_holds_nobody_up(pools, server, job):
    pool, _ = pools()
    assert pool.submit(job()).result(60).failure is None
    for _ in range(3):
        with socket.create_connection(server.tracker) as dead:
            dead.sendall(struct.pack("<i", base.RPC_TRACKER_MAGIC))
            base.recvall(dead, 4)
            base.sendjson(dead, [base.TrackerCode.REQUEST, KEY, "", 1])
    time.sleep(5)
    assert [pool.submit(job()).result(30).failure for _ in range(5)] == [None] * 5
    assert counts(server).waiting == 0


@pytest.mark.slow
def test_the_runs_own_tracker_and_servers_are_replaced(tmp_path, job):
    with LocalServers(CONFIG, 2, tmp_path) as servers:
        output = tmp_path / "output.log"
        with DevicePool(servers.tracker, CONFIG, output, on_lost=servers.replace) as pool:
            assert pool.submit(job()).result(60).failure is None
            tracker, before = servers._tracker.pid, pids_of(servers)
            os.kill(tracker, signal.SIGKILL)
            assert pool.submit(job()).result(60).failure is None, "sessions outlive the tracker"
            for pid in before:
                os.kill(pid, signal.SIGKILL)
            deadline = time.monotonic() + 90
            with_new = set()
            while len(with_new) < 2 and time.monotonic() < deadline:
                outcome = pool.submit(job()).result(90)
                assert outcome.failure is None or outcome.failure.kind == "device_lost"
                with_new = set(pids_of(servers)) - set(before)
            assert len(with_new) == 2 and servers._tracker.pid != tracker
            assert [pool.submit(job()).result(90).failure for _ in range(10)] == [None] * 10
            # All of them are with the new tracker.
            while True:
                with TrackerClient(servers.tracker) as client:
                    if client.require(CONFIG) == 2:
                        break
                assert time.monotonic() < deadline
                time.sleep(0.2)


@pytest.mark.long
def test_servers_that_are_gone_end_the_run_in_time(tmp_path, job):
    with LocalServers(CONFIG, 1, tmp_path) as servers:
        with DevicePool(
            servers.tracker, CONFIG, tmp_path / "output.log", patience_seconds=2.0
        ) as pool:
            assert pool.submit(job()).result(60).failure is None
            servers._stopping.set()
            servers._watch.join()
            for child in servers._children:
                child.kill()
            lost = pool.submit(job()).result(60)
            assert lost.failure is not None and lost.failure.kind == "device_lost"
            with pytest.raises(DevicesLost, match="has had no server of gemmini-16x16 for"):
                pool.submit(job()).result(60)
