"""Measures a device after another on all processors. Runs in the processes of a pool, too."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context

from ..codegen_tir import CodegenError, DoesNotFit
from ..device import DeviceConfig
from ..numerics import NumericsError
from ..process_tree import end_with_parent
from ..tuning.choose import Chooser
from ..tuning.errors import TuningError
from ..tuning.network import Network, asked_network, asked_numerics, on_device
from .devices import Point
from .results import DeviceResult

# Of this process: what it has partitioned last.
_network: Network | None = None


def measure(options: argparse.Namespace, config: DeviceConfig, point: Point) -> DeviceResult:
    """What a device takes for the network that `cli.options.add_model_options` ask for, each layer
    by its default schedule, whose result is compared with NumPy's."""
    try:
        network = network_on(options, config)
        results = Chooser(config, None).results(network.layers)
    except (CodegenError, DoesNotFit, NumericsError) as error:
        return DeviceResult.unable(config, point, str(error))
    if not results:
        return DeviceResult.unable(config, point, "nothing of it is for the device to compute")
    return DeviceResult.of(config, point, network.partitioned, results)


def network_on(options: argparse.Namespace, config: DeviceConfig) -> Network:
    """The network on a device, of what this process has loaded, or now loads."""
    global _network
    if _network is None:
        _network = asked_network(options, config, lambda text: None)
    else:
        _network = on_device(_network, config, asked_numerics(options), options.all_on_device)
    return _network


def measure_all(
    options: argparse.Namespace, points: Sequence[Point], processes: int
) -> Iterator[tuple[DeviceConfig, DeviceResult]]:
    """What each device takes, in the order in which they get done, by so many processes beside
    this one; for one process, by this one.

    Raises what `measure` does, and TuningError where a process ends.
    """
    jobs = [(point.config, point) for point in points if point.config is not None]
    if processes == 1:
        for config, point in jobs:
            yield config, measure(options, config, point)
        return
    pool = ProcessPoolExecutor(
        min(processes, max(1, len(jobs))),
        # A copy of this process would share TVM's threads and locks.
        mp_context=get_context("spawn"),
        initializer=end_with_parent,
    )
    try:
        with _without_ctrl_c():
            running = {
                pool.submit(measure, options, config, point): config for config, point in jobs
            }
        for future in as_completed(running):
            yield running[future], future.result()
    except BrokenProcessPool as error:
        raise TuningError(
            "a process that measured ended by itself, perhaps for want of memory; what was "
            "measured is kept, go on with the same command and fewer --processes"
        ) from error
    except KeyboardInterrupt:
        # What they are about to measure is lost, and the end of this process would wait for it.
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """For the processes that are started meanwhile, always: it reaches every process of the
    terminal, also one that only begins, and the first one says what happens. For this one it waits
    until the end of this."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
