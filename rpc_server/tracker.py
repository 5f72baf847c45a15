"""TVM's RPC tracker in a thread of this process."""

from __future__ import annotations

import socket
import struct
import sys

from .address import Address, AddressError, check_can_bind, free_port, is_loopback

_NO_AUTHENTICATION = (
    "warning: TVM's RPC has no authentication; whoever reaches {address} can run code as you"
)


def warn_if_exposed(address: Address) -> None:
    """Say so on stderr when other machines can reach `address`."""
    if not is_loopback(address.host):
        print(_NO_AUTHENTICATION.format(address=address), file=sys.stderr, flush=True)


def start_tracker(address: Address) -> tuple[Address, str]:
    """Start TVM's tracker in a thread of this process.

    Port 0 takes any free one. Returns the address and the key that `stop_tracker` needs.
    Raises AddressError when the address cannot be bound.
    """
    from tvm.rpc.tracker import PopenTrackerServerState

    check_can_bind(address)
    for _ in range(20):
        port = address.port or free_port(address.host)
        try:
            state = PopenTrackerServerState(address.host, port, port + 1, silent=True)
        except ValueError:  # somebody took the port since it was checked
            continue
        PopenTrackerServerState.current = state
        return Address(address.host, port), state.stop_key
    raise AddressError(f"cannot listen on {address}: its port was taken; choose another --port")


def stop_tracker(address: Address, stop_key: str) -> None:
    """End a tracker that `start_tracker` started; its thread ends with it."""
    from tvm.rpc import base

    with socket.create_connection(address, timeout=5) as connection:
        connection.sendall(struct.pack("<i", base.RPC_TRACKER_MAGIC))
        base.recvall(connection, 4)
        base.sendjson(connection, [base.TrackerCode.STOP, stop_key])
        base.recvjson(connection)
