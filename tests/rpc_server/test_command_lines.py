"""The tracker and the servers as a user starts them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
from command_lines import said
from free_port import free_port
from served import running, running_tracker, server_of

from npu_target.device import preset
from rpc_server.address import Address
from rpc_server.functions import DESCRIBE, SET_DEADLINE
from rpc_server.tracker_client import TrackerClient, device_key, wait_for_servers

pytestmark = pytest.mark.rpc

CONFIG = preset("gemmini-16x16")
KEY = device_key(CONFIG)


def ends_with_one_line(what, *arguments):
    """What it says on stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "npu_target", "serve", what, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    return said(done.stderr)


def session_of(address: Address):
    from tvm import rpc

    with TrackerClient(address) as client:
        endpoint = server_of(client, KEY)
    return rpc.connect(endpoint.host, endpoint.port, endpoint.matchkey)


@pytest.mark.long
def test_the_life_of_a_tracker_and_two_servers():
    with running_tracker() as (tracker, address):
        with running("devices", "--tracker", address, "--count", 2) as server:
            wait_for_servers(address, KEY, 2, 60)
            sessions = [session_of(address) for _ in range(2)]
            with TrackerClient(address) as client:
                assert client.require(CONFIG) == 2
                assert client.free_servers(KEY) == 0
            children = psutil.Process(server.pid).children(recursive=True)
            assert len(children) >= 4  # two servers, a process each for their sessions
            assert all(session.ext_dev(0).exist for session in sessions)
            server.send_signal(signal.SIGINT)
            assert server.wait(20) == 0
            assert not psutil.wait_procs(children, timeout=5)[1]
        tracker.send_signal(signal.SIGINT)
        assert tracker.wait(20) == 0
        assert not tracker.stderr.read()


@pytest.mark.long
def test_a_killed_server_is_started_again():
    with running_tracker() as (_, address):
        with running("devices", "--tracker", address) as server:
            wait_for_servers(address, KEY, 1, 60)
            (child,) = psutil.Process(server.pid).children()
            child.kill()
            deadline = time.monotonic() + 60
            while True:
                (now,) = psutil.Process(server.pid).children() or (child,)
                if now.pid != child.pid:
                    break
                assert time.monotonic() < deadline
                time.sleep(0.1)
            wait_for_servers(address, KEY, 1, 60)
            assert session_of(address).ext_dev(0).exist


@pytest.mark.long
def test_servers_do_not_outlive_a_killed_parent():
    with running_tracker() as (_, address):
        with running("devices", "--tracker", address) as server:
            wait_for_servers(address, KEY, 1, 60)
            children = psutil.Process(server.pid).children(recursive=True)
            server.kill()
            assert not psutil.wait_procs(children, timeout=10)[1]


@pytest.mark.slow
def test_servers_stop_when_the_tracker_goes_away():
    with running_tracker() as (tracker, address):
        with running("devices", "--tracker", address) as server:
            wait_for_servers(address, KEY, 1, 60)
            tracker.kill()
            assert server.wait(60) == 1
            error = server.stderr.read()
            assert error.count("\n") == 1
            assert f"lost the tracker, servers stopped: no tracker answers at {address}" in error


@pytest.mark.long
def test_a_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for what, options in (
            ("tracker", ()),
            ("devices", ("--tracker", f"127.0.0.1:{free_port()}")),
        ):
            error = ends_with_one_line(what, "--port", port, *options)
            assert f"cannot listen on 127.0.0.1:{port}" in error and "--port" in error


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--tracker", "nonsense"), "'nonsense' is not HOST:PORT"),
        (("--tracker", "127.0.0.1:1", "--device", "abacus"), "no device is called 'abacus'"),
        (("--tracker", "127.0.0.1:1"), "no tracker answers at 127.0.0.1:1"),
    ],
)
def test_wrong_input(options, says):
    assert says in ends_with_one_line("devices", *options)


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--run-with", "true {input}"), "has no {elf}, so it has nothing to run"),
        (("--run-with", "no-such-runner {elf}"), "there is no program no-such-runner"),
        (("--run-with", "true {elf} {input}", "--elf-cc", "no-gcc"), "no-gcc is not installed"),
        (("--run-with", "true {elf} {input}", "--elf-cc", "false"), "false refuses"),
        (("--runner", "board"), "say how to use --run-with"),
    ],
)
def test_a_command_that_cannot_be(options, says, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with running_tracker() as (_, address):
        assert says in ends_with_one_line("devices", "--tracker", address, *options)


@pytest.mark.long
def test_something_else_where_the_tracker_should_be():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        error = ends_with_one_line("devices", "--tracker", address)
        assert f"{address} is not a TVM RPC tracker" in error


def test_a_count_below_one():
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "npu_target",
            "serve",
            "devices",
            "--tracker",
            "127.0.0.1:1",
            "--count",
            "0",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "--count: must be at least 1, got 0" in done.stderr


@pytest.mark.parametrize("what", ["tracker", "devices"])
def test_the_help_warns_that_there_is_no_authentication(what):
    done = subprocess.run(
        [sys.executable, "-m", "npu_target", "serve", what, "--help"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert "no authentication" in " ".join(done.stdout.split())


def test_binding_beyond_loopback_warns():
    with running("tracker", "--bind", "0.0.0.0", "--port", 0) as process:
        assert process.stdout.readline().startswith("tracker listens on 0.0.0.0:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert "TVM's RPC has no authentication" in process.stderr.read()


@pytest.mark.long
def test_a_session_whose_run_takes_too_long_ends_and_the_server_goes_on():
    with running_tracker() as (_, address):
        with running("devices", "--tracker", address):
            wait_for_servers(address, KEY, 1, 60)
            session = session_of(address)
            session.get_function(SET_DEADLINE)(0.5)
            time.sleep(1.5)
            with pytest.raises(RuntimeError):
                session.get_function(DESCRIBE)()
            wait_for_servers(address, KEY, 1, 10)
            assert session_of(address).ext_dev(0).exist


@pytest.mark.long
def test_a_device_of_a_file(tmp_path):
    small = CONFIG.replace(name="my_npu.small", dim=8)
    small.save(tmp_path / "small.json")
    with running_tracker() as (_, address):
        with running("devices", "--tracker", address, "--device", tmp_path / "small.json"):
            wait_for_servers(address, device_key(small), 1, 60)
            with TrackerClient(address) as client:
                assert client.require(small) == 1
                server_of(client, device_key(small))


def test_orphans_do_not_pile_up():
    """None of the tests above left a process behind."""
    mine = psutil.Process(os.getpid()).children(recursive=True)
    # A browser that other tests keep open has services of its own.
    ours = [process for process in mine if "chromium" not in process.name()]
    assert not [process for process in ours if "serv" in " ".join(process.cmdline())]
