"""Ports that nobody listens on."""

from __future__ import annotations

import socket

from rpc_server.address import LOOPBACK


def free_port() -> int:
    """One of loopback that is free at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
