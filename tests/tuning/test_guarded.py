"""Trackers and servers that ask for a token, as a user starts them."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time

import psutil
import pytest
from command_lines import said
from served import running, running_tracker, server_of
from tvm import rpc

from npu_target.device import preset
from npu_target.topi import Add
from npu_target.tuning.pool import DevicePool
from npu_target.tuning.session import Job
from rpc_server.credentials import Credentials
from rpc_server.tracker_client import TrackerClient, TrackerError, device_key, wait_for_servers

pytestmark = pytest.mark.rpc

CONFIG = preset("gemmini-16x16")
OPERATOR = Add(9, 13, 16).canonical()


@pytest.fixture
def token(tmp_path):
    """A file with a token, and another one with another."""
    for name in ("token", "other"):
        (tmp_path / name).write_text(secrets.token_hex(32))
        (tmp_path / name).chmod(0o600)
    return tmp_path / "token"


def secret(file):
    return file.read_text().encode()


def measured(address, mine, output, add_program, count=3):
    program = add_program(OPERATOR, CONFIG)
    job = Job(program.to_bytes(), program.name, OPERATOR, 0, 20.0)
    with DevicePool(address, CONFIG, output, credentials=mine) as pool:
        return [pool.submit(job).result(60).failure for _ in range(count)]


@pytest.mark.long
@pytest.mark.parametrize("with_tls", [False, True])
def test_measuring_through_doors(token, tmp_path, add_program, with_tls):
    guard, trust, mine = ["--token-file", token], [], Credentials(secret(token))
    if with_tls:
        certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", "/CN=x", "-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )  # fmt: skip
        guard += ["--tls-cert", certificate, "--tls-key", key]
        trust = ["--tls-ca", certificate]
        mine = Credentials(secret(token), certificate)
    with running_tracker(*guard) as (tracker, address):
        with running("devices", "--tracker", address, *guard, *trust) as server:
            wait_for_servers(address, device_key(CONFIG), 1, 60, mine)
            output = tmp_path / "output.log"
            assert measured(address, mine, output, add_program) == [None] * 3
            # Behind the doors nothing can be reached, and the token is in no command line.
            family = psutil.Process(server.pid).children(recursive=True)
            assert not any(
                connection.status == psutil.CONN_LISTEN
                for child in family
                for connection in child.net_connections("tcp")
            )
            assert all(secret(token).decode() not in " ".join(p.cmdline()) for p in family)
            # A server that is started again is behind the same door.
            (child,) = psutil.Process(server.pid).children()
            with TrackerClient(address, credentials=mine) as client:
                before = client.servers()
            child.kill()
            psutil.wait_procs([child])
            time.sleep(1)
            wait_for_servers(address, device_key(CONFIG), 1, 60, mine)
            assert measured(address, mine, output, add_program) == [None] * 3
            with TrackerClient(address, credentials=mine) as client:
                assert client.servers() == before
            server.send_signal(signal.SIGTERM)
            assert server.wait(20) == 0
            assert not server.stderr.read()
        tracker.send_signal(signal.SIGTERM)
        assert tracker.wait(20) == 0


def test_who_has_no_token_or_another_gets_nothing(token, tmp_path, monkeypatch):
    monkeypatch.delenv("NPU_TARGET_TOKEN", raising=False)
    with running_tracker("--token-file", token) as (_, address):
        with pytest.raises(TrackerError, match="asks for a token: --token-file FILE"):
            TrackerClient(address)
        with pytest.raises(TrackerError, match="has another token"):
            TrackerClient(address, credentials=Credentials(secret(tmp_path / "other")))
        for more, says in (
            ([], "asks for a token: --token-file FILE"),
            (["--token-file", tmp_path / "other"], "has another token"),
        ):
            with running("devices", "--tracker", address, *more) as server:
                assert server.wait(60) == 1
                assert says in said(server.stderr.read())


def test_a_token_of_the_environment(token, monkeypatch):
    monkeypatch.setenv("NPU_TARGET_TOKEN", token.read_text())
    with running_tracker() as (_, address):
        with pytest.raises(TrackerError, match="asks for a token"):
            TrackerClient(address)
        with TrackerClient(address, credentials=Credentials(secret(token))) as client:
            client.ping()


def test_a_tracker_without_a_token_is_not_told_one(token):
    with running_tracker() as (_, address):
        with pytest.raises(TrackerError, match="asks for no token"):
            TrackerClient(address, 1.0, Credentials(secret(token)))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--tls-cert=a"], "give both, or neither"),
        (["--tls-cert=a", "--tls-key=b"], "--tls-cert needs --token-file"),
    ],
)
def test_options_that_do_not_go_together(options, says):
    with running("tracker", "--port", 0, *options) as process:
        assert process.wait(60) == 2
        assert says in process.stderr.read()


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_temporary_folders_are_gone_after_every_end(tmp_path, how):
    """Also with a session under way, which has a folder of TVM's."""
    settings = {"env": {**os.environ, "TMPDIR": str(tmp_path)}}
    with running_tracker() as (_, address):
        with running("devices", "--tracker", address, **settings) as server:
            wait_for_servers(address, device_key(CONFIG), 1, 60)
            with TrackerClient(address) as client:
                endpoint = server_of(client, device_key(CONFIG))
            session = rpc.connect(*endpoint)
            assert session.ext_dev(0).exist
            home = tmp_path / f"npu_target-{os.getuid()}"
            assert list(home.glob("*/*/*")), "TVM's folder of the session"
            server.send_signal(how)
            server.wait(20)
            del session
        if how == signal.SIGKILL:  # the next start clears what that one left
            with running("devices", "--tracker", address, **settings) as server:
                wait_for_servers(address, device_key(CONFIG), 1, 60)
                assert len(list(home.glob("*.lock"))) == 1
                server.send_signal(signal.SIGTERM)
                assert server.wait(20) == 0
    assert [path for path in tmp_path.rglob("*") if path != home] == []
