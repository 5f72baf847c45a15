"""What answers where a tracker should be: one line, soon."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm.rpc import base

from npu_target.device import preset
from rpc_server.address import LOOPBACK, Address
from rpc_server.tracker_client import TrackerClient, TrackerError

CONFIG = preset("gemmini-16x16")
MAGIC = struct.pack("<i", base.RPC_TRACKER_MAGIC)


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[Address]:
    """A server that does this to each connection."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    with suppress(OSError):
                        answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Address(LOOPBACK, listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)


def echo(connection: socket.socket) -> None:
    while data := connection.recv(4096):
        connection.sendall(data)


def says(*answers: bytes) -> Callable[[socket.socket], None]:
    """The magic, then one of these for each message."""

    def answer(connection: socket.socket) -> None:
        connection.recv(4)
        connection.sendall(MAGIC)
        for data in answers:
            connection.recv(4096)
            connection.sendall(data)
        connection.recv(4096)

    return answer


def framed(data: bytes) -> bytes:
    return struct.pack("<i", len(data)) + data


def stand_in_line(client: TrackerClient) -> None:
    client.ask_for("key")
    if client.given(0.5) is None:
        raise TrackerError("silence")


def asked(address: Address) -> None:
    """All that is asked of a tracker, each on a connection of its own."""
    for ask in (
        lambda client: client.ping(),
        lambda client: client.servers(),
        lambda client: client.free_servers("key"),
        lambda client: client.require(CONFIG),
        stand_in_line,
    ):
        with pytest.raises(TrackerError), TrackerClient(address, 0.5) as client:
            ask(client)


def test_an_echo_server():
    with answering(echo) as address:
        asked(address)
        with pytest.raises(TrackerError, match="is not a TVM RPC tracker"):
            with TrackerClient(address) as client:
                client.require(CONFIG)


@pytest.mark.parametrize(
    "data",
    [
        framed(b"no JSON"),
        framed(b"\xff\xfe"),
        framed(b"{}"),
        framed(b"[]"),
        framed(b"[0, {}]"),
        framed(b"[0, []]"),
        framed(b'[0, {"server_info": 1, "queue_info": 1}]'),
        framed(b'[0, {"server_info": [1], "queue_info": {"key": 1}}]'),
        framed(b'[0, ["host", "port", "key"]]'),
        framed(b'[7, "not today"]'),
        framed(b""),
        struct.pack("<i", -5),
        struct.pack("<i", 1 << 30) + b"{",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"",
    ],
)
def test_the_magic_and_then_something_else(data):
    with answering(says(data)) as address:
        asked(address)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["server_info", "queue_info", "key", "free"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(value=_JSON)
@settings(max_examples=30)
def test_any_other_json_is_an_error_or_an_answer(value):
    with answering(says(framed(json.dumps([0, value]).encode()))) as address:
        for ask in ("servers", "free"):
            try:
                with TrackerClient(address, 0.5) as client:
                    found = client.servers() if ask == "servers" else client.free_servers("key")
                assert isinstance(found, (dict, int))
            except TrackerError as error:
                assert "\n" not in str(error)
