"""A tracker, until it is asked to stop."""

from __future__ import annotations

import argparse
import logging
from contextlib import ExitStack

from rpc_server.address import Address, listen, listen_behind_door
from rpc_server.door import Doors
from rpc_server.process import StopSignal
from rpc_server.tracker import start_tracker, warn_if_exposed

from ..scratch import scratch_folder
from .door_keeper import door_keeper


def run(options: argparse.Namespace) -> int:
    keeper = door_keeper(options)
    with ExitStack() as stack:
        listener = listen(Address(options.bind, options.port))
        address = Address(options.bind, listener.getsockname()[1])
        if keeper is None:
            start_tracker(listener)
        else:
            inner = stack.enter_context(scratch_folder("tracker")) / "socket"
            start_tracker(listen_behind_door(inner))
            stack.enter_context(Doors()).open(listener, inner, keeper)
        warn_if_exposed(address, keeper)
        stop_signal = StopSignal()
        print(f"tracker listens on {address}", flush=True)
        if options.with_parent:
            # Its only clients are the parent's, which reports what it loses; a client that the
            # parent ended in the middle of a request is no news.
            logging.getLogger("RPCTracker").setLevel(logging.ERROR)
            stop_signal.also_with_parent()
        stop_signal.wait()
    return 0
