"""One device server in this process: TVM's RPC server with the simulated device loaded, or with a
command of the user's that measures.

Started by `rpc_server.server` and `rpc_server.local`, which watch over it. Each session of a
client runs in a process that TVM forks off, so a crash or a hang there ends that session.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import math
import os
import socket
import sys
import threading
import time
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
import tvm
import tvm_ffi
from tvm.rpc.server import _listen_loop

import npu_target
from npu_target.device import DeviceConfig, find
from npu_target.device_api import create_module, last_stats, set_limits
from npu_target.external.asked import external_device
from npu_target.external.device import ExternalDevice
from npu_target.external.errors import ExternalError
from npu_target.external.options import add_external_options, add_runner_name
from npu_target.packing import Packing
from npu_target.program import Program, ProgramError

from .address import Address, AddressError, listen, listen_behind_door
from .functions import DESCRIBE, DIGEST, PACK, RUN, SET_DEADLINE
from .process import StopSignal, leave_with_parent
from .tracker_client import device_key

# Between two attempts, where there is trouble.
_PAUSE_SECONDS = 0.2

_deadline: threading.Timer | None = None


def _set_deadline(seconds: float) -> None:
    """End this session's process unless called again within `seconds`; 0 takes that back.

    Exit code 0, because TVM's server stops serving for good after a session that ended in
    another way.
    """
    global _deadline
    if _deadline is not None:
        _deadline.cancel()
        _deadline = None
    if seconds > 0:
        _deadline = threading.Timer(seconds, os._exit, [0])
        _deadline.daemon = True
        _deadline.start()


def _run(
    clock_khz: int, program: bytes, name: str, max_cycles: int, deadline: float, *arrays: Any
) -> float:
    """Run a program file once and return its simulated seconds, in whole nanoseconds.

    TVM's time_evaluator runs everything twice, the first time to warm up: this device always
    begins cold, and simulating is what takes the time. Ends the process past the deadline; it
    stays in force when the run fails.
    """
    set_limits(max_cycles)
    module = create_module({name: bytes(program)})
    _set_deadline(deadline)
    module[name](*arrays)
    _set_deadline(0.0)
    stats = last_stats()
    assert stats is not None
    return _seconds(stats.cycles, clock_khz)


def _seconds(cycles: int, clock_khz: int) -> float:
    return math.floor(cycles * 1e6 / clock_khz + 0.5) / 1e9


def _run_external(
    device: ExternalDevice,
    program: bytes,
    name: str,
    max_cycles: int,
    deadline: float,
    *arrays: Any,
) -> float:
    """As `_run`, by the user's command, which is ended past the deadline and when the client has
    gone. Cycles are known when it is done, so nothing is gained by a limit on them."""
    try:
        parsed = Program.from_bytes(bytes(program), name)
        given = [array.numpy() for array in arrays]
        measured = device.measure(parsed, given, deadline, client_has_gone)
    except ExternalError as error:
        raise RuntimeError(f"NpuDeviceError [{error.kind}] {error}") from error
    except ProgramError as error:
        raise RuntimeError(f"NpuDeviceError [bad_program] {error}") from error
    outputs = iter(device.outputs(parsed, measured))
    for arg, array in zip(parsed.args, arrays, strict=True):
        if arg.role == "output":
            array.copyfrom(next(outputs))
    return _seconds(measured.cycles, parsed.config.clock_khz)


def client_has_gone() -> bool:
    """Whether a session's client has closed its end, which TVM's server sees only between calls."""
    connections = psutil.Process().net_connections("tcp")
    return any(connection.status == psutil.CONN_CLOSE_WAIT for connection in connections)


def _digest(array: Any) -> str:
    """The SHA-256 of an array's bytes, as hexadecimal digits."""
    return hashlib.sha256(array.numpy().tobytes()).hexdigest()


def _pack(layout: str, source: Any, target: Any) -> None:
    """Fill `target` with an array in a packed layout, which is a Packing as JSON."""
    target.copyfrom(Packing.from_json(str(layout)).pack(source.numpy()))


def register_functions(config: DeviceConfig, external: ExternalDevice | None) -> None:
    """Make known what a client may call on this server besides the device itself."""
    described = json.dumps(
        {
            "device": config.name,
            "hash": config.hash,
            "runner": "" if external is None else external.name,
            "npu_target": npu_target.__version__,
            "tvm": tvm.__version__,
        }
    )
    tvm_ffi.register_global_func(DESCRIBE, lambda: described, override=True)
    tvm_ffi.register_global_func(SET_DEADLINE, _set_deadline, override=True)
    tvm_ffi.register_global_func(DIGEST, _digest, override=True)
    tvm_ffi.register_global_func(PACK, _pack, override=True)
    run = partial(_run, config.clock_khz)
    if external is not None:
        run = partial(_run_external, external)
    tvm_ffi.register_global_func(RUN, run, override=True)


def serve(listener: socket.socket, host: str | None, port: int, tracker: Address, key: str) -> None:
    """Have TVM's RPC server answer on a socket, in a thread of this process.

    The tracker is told `host` and `port`; None is as it sees this machine. TVM's loop ends when a
    session's process ends in another way than by its client's leave, which is no reason not to
    serve the next client.
    """
    logging.getLogger("RPCServer").setLevel(logging.ERROR)
    folder = Path.cwd()

    def serve_for_ever() -> None:
        while True:
            began = time.monotonic()
            try:
                _listen_loop(listener, port, key, tuple(tracker), None, host)
            except Exception as error:  # noqa: BLE001  whatever a client did, others are to be served
                print(f"server {os.getpid()}: {error}", file=sys.stderr, flush=True)
            os.chdir(folder)
            if time.monotonic() - began < _PAUSE_SECONDS:
                time.sleep(_PAUSE_SECONDS)

    threading.Thread(target=serve_for_ever, name="serving", daemon=True).start()


def _quiet_excepthook(
    kind: type[BaseException], value: BaseException, _: TracebackType | None
) -> None:
    """A session's process that loses its client says so in one line."""
    print(f"session {os.getpid()}: {kind.__name__}: {value}", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rpc_server.serving")
    parser.add_argument("--tracker", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    # Behind a door: a Unix socket, and where the door is.
    parser.add_argument("--socket", type=Path)
    parser.add_argument("--door", type=Address.parse)
    parser.add_argument("--with-parent", action="store_true")
    add_external_options(parser)
    add_runner_name(parser)
    options = parser.parse_args(arguments)

    config = find(options.device)
    sys.excepthook = _quiet_excepthook
    try:
        external = external_device(options, config)
        if external is not None:
            external.builder.prepare()  # not in the time of the first candidate
        register_functions(config, external)
        if options.socket is None:
            listener = listen(Address(options.host, options.port))
            host, port = None, listener.getsockname()[1]
        else:
            listener = listen_behind_door(options.socket)
            host, port = options.door
    except (AddressError, ExternalError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    key = device_key(config, "" if external is None else external.name)
    serve(listener, host, port, Address.parse(options.tracker), key)
    stop_signal = StopSignal()
    print(port, flush=True)
    if options.with_parent:
        leave_with_parent()
    stop_signal.wait()
    # TVM's listening thread cannot be asked to stop; it holds nothing that needs closing.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
