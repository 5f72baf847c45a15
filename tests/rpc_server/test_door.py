"""Doors in front of something that answers anyone, and ways to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import ssl
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest
from free_port import free_port
from tvm.rpc import base

from rpc_server import door
from rpc_server.address import LOOPBACK, Address, listen, listen_behind_door
from rpc_server.connecting import ConnectError, NobodyThere, connect, connect_streams
from rpc_server.credentials import (
    NONE,
    Credentials,
    CredentialsError,
    DoorKeeper,
    read_credentials,
    read_token,
)
from rpc_server.door import Doors
from rpc_server.tracker_client import TrackerClient, TrackerError

TOKEN = b"a token of some length"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two certificates, each signed by itself, with their keys."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("one", "other"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", f"/CN={name}",
             "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"],
            check=True,
            capture_output=True,
        )  # fmt: skip
    return folder


@pytest.fixture
def doors():
    with Doors() as running:
        yield running


@pytest.fixture
def heard(tmp_path):
    """What comes to a Unix socket `inner`, which answers with the same."""
    got = bytearray()
    listener = listen_behind_door(tmp_path / "inner")

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1 << 16):
                got.extend(data)
                connection.sendall(data)

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield got
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.fixture
def opened(doors, heard, tmp_path):
    """Opens a door in front of that; gives its address."""

    def open_door(certificate: Path | None = None) -> Address:
        listener = listen(Address(LOOPBACK, 0))
        key = None if certificate is None else certificate.with_suffix(".key")
        doors.open(listener, tmp_path / "inner", DoorKeeper(TOKEN, certificate, key))
        return Address(LOOPBACK, listener.getsockname()[1])

    return open_door


# Of a socket that does not block, TLS or not: nothing came, or nothing more is taken.
NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def echoes(connection: socket.socket, data: bytes = b"hello") -> bool:
    """Whether the same comes back, both ways at once; by one thread, since Python's TLS sockets
    are not for two."""
    sent, answer, deadline = 0, bytearray(), time.monotonic() + 60
    before = connection.gettimeout()
    connection.setblocking(False)
    while len(answer) < len(data) and time.monotonic() < deadline:
        with contextlib.suppress(*NOT_NOW):
            sent += connection.send(data[sent : sent + (1 << 16)])
        with contextlib.suppress(*NOT_NOW):
            came = connection.recv(1 << 16)
            if not came:
                break
            answer += came
            continue
        select.select([connection], [connection] if sent < len(data) else [], [], 0.1)
    connection.settimeout(before)
    return bytes(answer) == data


@pytest.mark.parametrize("with_tls", [False, True])
def test_who_knows_the_token_is_let_in(opened, heard, certificates, with_tls):
    certificate = certificates / "one.pem" if with_tls else None
    data = os.urandom(3_000_000)  # more than any buffer on the way
    with connect(opened(certificate), Credentials(TOKEN, certificate), 5) as connection:
        assert echoes(connection, data)
    assert bytes(heard) == data


@pytest.mark.parametrize(
    ("certificate", "token", "ca", "says"),
    [
        (None, b"another token of some length", None, "has another token"),
        ("one", b"another token of some length", "one", "has another token"),
        ("one", TOKEN, "other", "has a certificate that none of --tls-ca has signed"),
        (None, TOKEN, "one", "speaks no TLS .*; leave out --tls-ca"),
        ("one", TOKEN, None, "asks for no token; leave it out, or add --tls-ca"),
    ],
)
def test_who_has_something_else_is_not(
    opened, heard, certificates, certificate, token, ca, says, capfd
):
    address = opened(certificate and certificates / f"{certificate}.pem")
    mine = Credentials(token, ca and certificates / f"{ca}.pem")
    with pytest.raises(ConnectError, match=says):
        connect(address, mine, 1)
    assert not heard
    said, deadline = "", time.monotonic() + 5
    while token != TOKEN and "wrong token" not in said:
        said += capfd.readouterr().err
        assert time.monotonic() < deadline


def test_not_a_byte_passes_before_the_proof(opened, heard):
    address = opened()
    with pytest.raises(TrackerError, match="asks for a token: --token-file FILE"):
        TrackerClient(address)
    with socket.create_connection(address) as stranger:
        stranger.sendall(struct.pack("<i", base.RPC_MAGIC) + bytes(200))
        assert base.recvall(stranger, 40 + 33).endswith(b"N" * 33)
    assert not heard


def test_strangers_who_say_nothing_are_sent_away(opened, heard, monkeypatch):
    monkeypatch.setattr(door, "_HANDSHAKE_SECONDS", 0.3)
    address = opened()
    strangers = [socket.create_connection(address) for _ in range(100)]
    began = time.monotonic()
    with connect(address, Credentials(TOKEN), 10) as connection:
        assert echoes(connection)
    assert time.monotonic() - began < 5
    for stranger in strangers:
        stranger.settimeout(5)
        while stranger.recv(100):
            pass
        stranger.close()


@pytest.mark.parametrize("with_tls", [False, True])
def test_a_way_leads_those_who_know_of_no_doors(doors, opened, certificates, with_tls):
    certificate = certificates / "one.pem" if with_tls else None
    address, mine = opened(certificate), Credentials(TOKEN, certificate)
    way = doors.way_to(address, mine)
    assert way.host == LOOPBACK and way == doors.way_to(address, mine)
    for _ in range(2):
        with socket.create_connection(way, timeout=5) as connection:
            assert echoes(connection, os.urandom(1_000_000))
    assert not doors.trouble


def test_a_way_is_for_processes_of_the_same_user(doors, opened, heard, monkeypatch):
    way = doors.way_to(opened(), Credentials(TOKEN))
    other = os.getuid() + 1
    monkeypatch.setattr(door.os, "getuid", lambda: other)
    with socket.create_connection(way, timeout=5) as connection:
        assert connection.recv(1) == b""
    assert not heard


def test_a_way_that_cannot_be_gone_says_why(doors, opened):
    nowhere = Address(LOOPBACK, free_port())
    for address, says in ((nowhere, "nobody answers"), (opened(), "has another token")):
        way = doors.way_to(address, Credentials(b"another token of some length"))
        with socket.create_connection(way, timeout=5) as connection:
            assert connection.recv(1) == b""
        assert f"{address}" in doors.trouble and says in doors.trouble


def test_certificates_that_are_gone_are_told_before_anybody_is_asked(tmp_path):
    credentials = Credentials(TOKEN, tmp_path / "gone.pem")
    nowhere = Address(LOOPBACK, free_port())
    with pytest.raises(ConnectError, match=r"gone\.pem is no file of certificates"):
        connect(nowhere, credentials, 5)
    with pytest.raises(ConnectError, match=r"gone\.pem is no file of certificates"):
        asyncio.run(connect_streams(nowhere, credentials))


def test_closing_ends_connections(opened, doors):
    connection = connect(opened(), Credentials(TOKEN), 5)
    assert echoes(connection)
    doors.close()
    assert connection.recv(1) == b""
    connection.close()
    doors.close()


def test_a_name_that_is_none_and_a_port_of_nobody():
    with pytest.raises(ConnectError, match=r"no address is known of no-such-host\.invalid"):
        connect(Address("no-such-host.invalid", 9190), NONE, 5)
    with pytest.raises(NobodyThere, match="Connection refused"):
        connect(Address(LOOPBACK, free_port()), NONE, 5)


def test_tokens_are_of_a_file_that_only_its_owner_reads(tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.write_bytes(TOKEN + b"\n")
    file.chmod(0o600)
    assert read_token(file) == TOKEN
    file.chmod(0o640)
    with pytest.raises(CredentialsError, match="chmod 600"):
        read_token(file)
    file.chmod(0o600)
    file.write_text("short")
    with pytest.raises(CredentialsError, match="has 5 characters, needed are 16; make one with"):
        read_token(file)
    with pytest.raises(CredentialsError, match="is no file with a token"):
        read_token(tmp_path / "none")
    monkeypatch.delenv("NPU_TARGET_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("NPU_TARGET_TOKEN", TOKEN.decode())
    assert read_token(None) == TOKEN
    assert TOKEN.decode() not in repr(read_credentials(None, None))


def test_certificates_that_are_none(tmp_path, certificates):
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nonsense")
    with pytest.raises(CredentialsError, match="is no file of certificates"):
        Credentials(TOKEN, nonsense).tls()
    with pytest.raises(CredentialsError, match="are no certificate with its key"):
        DoorKeeper(TOKEN, certificates / "one.pem", certificates / "other.key").tls()
