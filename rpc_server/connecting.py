"""Connections to trackers and servers, through the doors in front of them where there are some."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable
from typing import TypeVar

from tvm.rpc import base

from npu_target.errors import UserError

from .address import Address
from .credentials import Credentials, CredentialsError, certificate_binding
from .handshake import CHALLENGE_BYTES, VERDICT_BYTES, ClientSide, HandshakeError

_HANDSHAKE_SECONDS = 10.0


class ConnectError(UserError, RuntimeError):
    """What listens at an address is not reached, or is not what it should be."""


class NobodyThere(ConnectError):
    """Nothing listens at an address, or the way there is barred; `reason` says more."""

    def __init__(self, address: Address, reason: str) -> None:
        super().__init__(f"nobody answers at {address} ({reason})")
        self.reason = reason


_Result = TypeVar("_Result")
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def _tls(credentials: Credentials) -> ssl.SSLContext | None:
    """Of files that were right when the credentials were made, and may be gone."""
    try:
        return credentials.tls()
    except CredentialsError as error:
        raise ConnectError(str(error)) from error


def connect(address: Address, credentials: Credentials, timeout_seconds: float) -> socket.socket:
    """A connection through which TVM's RPC can be spoken. Raises ConnectError."""
    connection: socket.socket | None = None
    context = _tls(credentials)
    try:
        connection = socket.create_connection(address, timeout=timeout_seconds)
        if credentials.token is None:
            return connection
        binding = b""
        if context is not None:
            connection = wrapped = context.wrap_socket(connection)
            binding = _binding(wrapped)
        side = ClientSide(credentials.token, binding)
        connection.sendall(side.answer(base.recvall(connection, CHALLENGE_BYTES)))
        side.check(base.recvall(connection, VERDICT_BYTES))
        return connection
    except (OSError, HandshakeError) as error:
        if connection is not None:
            connection.close()
        raise _failed(address, error, connection is not None) from error


async def connect_streams(address: Address, credentials: Credentials) -> Streams:
    """The same in an event loop."""
    opening = asyncio.open_connection(address.host, address.port, ssl=_tls(credentials))
    try:
        reader, writer = await _in_time(opening)
    except (OSError, asyncio.TimeoutError) as error:
        raise _failed(address, error, isinstance(error, ssl.SSLError)) from error
    try:
        if credentials.token is not None:
            found = writer.get_extra_info("ssl_object")
            side = ClientSide(credentials.token, b"" if found is None else _binding(found))
            writer.write(side.answer(await _in_time(reader.readexactly(CHALLENGE_BYTES))))
            side.check(await _in_time(reader.readexactly(VERDICT_BYTES)))
        return reader, writer
    except asyncio.IncompleteReadError as error:
        writer.close()
        raise _failed(address, ConnectionResetError("it closes the connection"), True) from error
    except (OSError, HandshakeError, asyncio.TimeoutError) as error:
        writer.close()
        raise _failed(address, error, True) from error


async def _in_time(what: Awaitable[_Result]) -> _Result:
    return await asyncio.wait_for(what, _HANDSHAKE_SECONDS)


def _binding(connection: ssl.SSLSocket | ssl.SSLObject) -> bytes:
    certificate = connection.getpeercert(binary_form=True)
    assert certificate is not None  # TLS clients ask for one
    return certificate_binding(certificate)


def _failed(address: Address, error: Exception, is_connected: bool) -> ConnectError:
    """What to say; where something listens, what may be wrong with it."""
    if isinstance(error, HandshakeError):
        return ConnectError(f"{address} {error}")
    if isinstance(error, socket.gaierror):
        return ConnectError(f"no address is known of {address.host} ({error.strerror or error})")
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConnectError(
            f"{address} has a certificate that none of --tls-ca has signed ({error.verify_message})"
        )
    if isinstance(error, ssl.SSLError):
        return ConnectError(f"{address} speaks no TLS ({error.reason}); leave out --tls-ca")
    if not is_connected:
        return NobodyThere(address, str(getattr(error, "strerror", None) or error or "no answer"))
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return ConnectError(
            f"{address} asks for no token; leave it out, or add --tls-ca where it speaks TLS"
        )
    return ConnectError(f"{address} does not let this client in: {error}")
