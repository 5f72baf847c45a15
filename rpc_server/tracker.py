"""TVM's RPC tracker in a thread of this process."""

from __future__ import annotations

import logging
import socket
import sys
import threading

from tvm.rpc import base
from tvm.rpc.tracker import _tracker_server

from .address import Address, is_loopback
from .credentials import DoorKeeper

_NO_AUTHENTICATION = (
    "warning: TVM's RPC has no authentication; whoever reaches {address} can run code as you; "
    "--token-file asks for a token"
)
_NOT_ENCRYPTED = (
    "warning: what passes {address} is not encrypted; who sits on the way can read it, and change "
    "it once a token was shown; --tls-cert and --tls-key encrypt"
)


def warn_if_exposed(address: Address, keeper: DoorKeeper | None) -> None:
    """Say on stderr what can be done by other machines that can reach `address`."""
    if is_loopback(address.host) or (keeper is not None and keeper.certificate is not None):
        return
    text = _NO_AUTHENTICATION if keeper is None else _NOT_ENCRYPTED
    print(text.format(address=address), file=sys.stderr, flush=True)


def start_tracker(listener: socket.socket) -> None:
    """Have TVM's tracker answer on a socket, in a thread that ends with this process."""
    logger = logging.getLogger("RPCTracker")
    logger.setLevel(logging.WARNING)
    arguments = listener, base.random_key("tracker")  # which would let a client stop it
    threading.Thread(target=_tracker_server, args=arguments, name="tracker", daemon=True).start()
