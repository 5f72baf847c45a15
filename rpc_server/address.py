"""`HOST:PORT` on the command line."""

from __future__ import annotations

import ipaddress
import socket
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


def check_can_bind(address: Address) -> None:
    """Raise AddressError, saying what to do, unless a server can listen on `address`.

    Port 0 asks only whether the host is one of this machine's.
    """
    try:
        info = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(info[0], info[1]) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(info[4])
            probe.listen(1)
    except OSError as error:
        raise cannot_listen(address, error) from error


def cannot_listen(address: Address, error: OSError) -> AddressError:
    """What to say, and to do, when `address` cannot be bound."""
    return AddressError(
        f"cannot listen on {address}: {error.strerror or error}; "
        "choose another --port (0 takes any free one) or --bind"
    )


def free_port(host: str) -> int:
    """A port that is free at this moment; the caller binds it and tries again if it lost a race."""
    info = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(info[0], info[1]) as probe:
        probe.bind(info[4])
        return int(probe.getsockname()[1])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
