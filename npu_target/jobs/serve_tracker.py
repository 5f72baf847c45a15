"""A tracker, until it is asked to stop."""

from __future__ import annotations

import argparse
import logging

from rpc_server.address import Address
from rpc_server.process import StopSignal, leave_with_parent
from rpc_server.tracker import start_tracker, stop_tracker, warn_if_exposed


def run(options: argparse.Namespace) -> int:
    address, stop_key = start_tracker(Address(options.bind, options.port))
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
