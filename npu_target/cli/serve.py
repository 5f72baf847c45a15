"""`npu-target serve`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rpc_server.launchers import LAUNCHERS

from ..external.options import add_external_options, add_runner_name
from .options import add_client_options, add_device_option, add_tls_ca_option, add_token_option
from .parsers import address, at_least, does, port

_TRACKER_PORT = 9190
_LOOPBACK = "127.0.0.1"
_WARNING = (
    "TVM's RPC has no authentication: bind to other addresses than loopback only with "
    "--token-file, or in a network that you trust."
)

SUMMARY = "serve devices for tuning runs, and their tracker"
DESCRIPTION = f"Serve devices for tuning runs, and the tracker that lists them. {_WARNING}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", required=True, metavar="tracker|devices|status")
    tracker = commands.add_parser(
        "tracker",
        help="keep the list of device servers",
        description=f"Keep the list of device servers and hand them to tuning runs. {_WARNING}",
    )
    _add_bind(tracker)
    tracker.add_argument(
        "--port",
        type=port,
        default=_TRACKER_PORT,
        help="port to bind, 0 for any free one (default: %(default)s)",
    )
    does(tracker, "serve_tracker")
    devices = commands.add_parser(
        "devices",
        help="serve simulated devices, or what a command of yours runs programs on",
        description="Serve simulated devices, or what --run-with runs programs on, to the clients "
        f"of a tracker. {_WARNING}",
    )
    _add_tracker(devices, "where to register")
    add_tls_ca_option(devices)
    add_device_option(devices)
    devices.add_argument(
        "--count",
        type=at_least(1),
        default=1,
        metavar="N",
        help="how many servers, each a process (default: %(default)s)",
    )
    _add_bind(devices)
    devices.add_argument(
        "--port",
        type=port,
        default=0,
        help="port of the first server, the next ones follow; 0 for any free ones (default: 0)",
    )
    measuring = devices.add_argument_group("measuring on something else than the simulator")
    add_external_options(measuring)
    add_runner_name(measuring)
    launching = devices.add_argument_group("on other hosts")
    launching.add_argument(
        "--launch",
        choices=LAUNCHERS,
        help="start these servers on each host of --hosts, by this command, and end them with this "
        "one; files that are named must be there under the same paths",
    )
    launching.add_argument(
        "--hosts", type=Path, metavar="FILE", help="hosts, one a line; # begins a comment"
    )
    launching.add_argument(
        "--remote-python",
        default=sys.executable,
        metavar="PATH",
        help="the Python there that has npu_target (default: %(default)s)",
    )
    does(devices, "serve_devices")
    status = commands.add_parser(
        "status",
        help="show a tracker's servers: how many are free, with whom, how many wait",
        description="Show what servers a tracker has, of which devices, how many of them are free "
        "or busy, and how many requests of clients wait for one. The exit code is 0 where there is "
        "a server, of --device where that is given, else 1.",
    )
    _add_tracker(status, "which tracker")
    status.add_argument("--device", metavar="NAME|FILE", help="only servers of this device")
    status.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="write it for machines, to standard output instead of the table or to FILE",
    )
    add_client_options(status)
    does(status, "serve_status")


def _add_tracker(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--tracker", required=True, type=address, metavar="HOST:PORT", help=what)


def _add_bind(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bind",
        default=_LOOPBACK,
        metavar="ADDRESS",
        help="where to listen (default: %(default)s)",
    )
    doors = parser.add_argument_group("who is let in")
    add_token_option(doors, "let in only who proves to know the token in this file")
    doors.add_argument("--tls-cert", type=Path, metavar="FILE", help="speak TLS, as who has this")
    doors.add_argument("--tls-key", type=Path, metavar="FILE", help="the key of that certificate")
    # For the children of a run: leave when stdin closes.
    parser.add_argument("--with-parent", action="store_true", help=argparse.SUPPRESS)
