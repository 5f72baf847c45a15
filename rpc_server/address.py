"""`HOST:PORT` on the command line."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path
from typing import NamedTuple

from npu_target.errors import UserError

LOOPBACK = "127.0.0.1"


class AddressError(UserError, ValueError):
    """Text that is not HOST:PORT, or an address that cannot be bound."""


class Address(NamedTuple):
    """A TCP address; IPv6 hosts are written in brackets, as in `[::1]:9190`."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read `HOST:PORT`. Raises AddressError for anything else."""
        host, separator, port = text.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        if not separator or not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise AddressError(f"{text!r} is not HOST:PORT, for example 127.0.0.1:9190")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def listen(address: Address) -> socket.socket:
    """A socket that listens there; port 0 takes any free one.

    Raises AddressError, saying what to do, for an address that cannot be bound.
    """
    try:
        info = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(info[0], info[1])
    except OSError as error:
        raise _cannot_listen(address, error) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(info[4])
        listener.listen(16)
    except OSError as error:
        listener.close()
        raise _cannot_listen(address, error) from error
    return listener


def listen_behind_door(path: Path) -> socket.socket:
    """A Unix socket that listens at `path`, in the place of an earlier one. Raises AddressError."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(path))
        listener.listen(16)
    except OSError as error:
        listener.close()
        raise AddressError(
            f"cannot listen on {path}: {error}; set TMPDIR to a shorter one"
        ) from error
    return listener


def check_can_bind(address: Address) -> None:
    """Raise AddressError unless a server can listen on `address`.

    Port 0 asks only whether the host is one of this machine's.
    """
    listen(address).close()


def _cannot_listen(address: Address, error: OSError) -> AddressError:
    return AddressError(
        f"cannot listen on {address}: {error.strerror or error}; "
        "choose another --port (0 takes any free one) or --bind"
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """Whether a server bound to `host` listens on all addresses of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
