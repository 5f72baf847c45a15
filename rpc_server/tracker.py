"""`python -m rpc_server.tracker`: TVM's RPC tracker, bound to loopback unless told otherwise."""

from __future__ import annotations

import argparse
import logging
import socket
import struct
import sys

from .address import LOOPBACK, Address, AddressError, check_can_bind, free_port, is_loopback
from .process import StopSignal, leave_with_parent

DEFAULT_PORT = 9190
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


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m rpc_server.tracker",
        description="Keep the list of device servers and hand them to tuning runs. "
        "TVM's RPC has no authentication: bind to other addresses than loopback only in a "
        "network that you trust.",
    )
    result.add_argument("--host", default=LOOPBACK, help="address to bind (default: %(default)s)")
    result.add_argument(
        "--port",
        type=int,
        default=DEFAULT_PORT,
        help="port to bind, 0 for any free one (default: %(default)s)",
    )
    result.add_argument("--with-parent", action="store_true", help=argparse.SUPPRESS)
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    wanted = Address(options.host, options.port)
    if not 0 <= wanted.port < 65536:
        parser().error(f"--port {wanted.port} is not between 0 and 65535")
    try:
        address, stop_key = start_tracker(wanted)
    except AddressError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    warn_if_exposed(address)
    stop_signal = StopSignal()
    print(f"tracker listens on {address}", flush=True)
    if options.with_parent:
        # Its only clients are the parent's, which reports what it loses; a client that the parent
        # ended in the middle of a request is no news.
        logging.getLogger("RPCTracker").setLevel(logging.ERROR)
        leave_with_parent()
    stop_signal.wait()
    stop_tracker(address, stop_key)
    return 0


if __name__ == "__main__":
    sys.exit(main())
