"""Searching for faster schedules of a network's layers."""

from __future__ import annotations

import argparse
import contextlib
import os

from rich.console import Console
from tvm.s_tir import Schedule

from rpc_server.address import Address
from rpc_server.tracker_client import TrackerClient

from ..device import DeviceConfig, find
from ..files import check_can_write
from ..partition import explain
from ..stages import check_stages
from ..tuning.asked_logs import asked_logs
from ..tuning.build_pool import BuildPool
from ..tuning.devices import check_runner, device_pool
from ..tuning.dump import best_schedule, check_can_dump, dump_layers, with_host_costs, with_layouts
from ..tuning.explain_schedule import explain_schedules
from ..tuning.header import Header
from ..tuning.interrupt import Interrupt
from ..tuning.layers import Layer
from ..tuning.log import RUN_LOG_FILE, TuningLog, check_can_make, check_log, open_log
from ..tuning.measuring import Measurer
from ..tuning.models import check_model, model_name
from ..tuning.network import asked_network, check_ops, select_layers
from ..tuning.pool import DevicePool
from ..tuning.print_stages import print_stages
from ..tuning.progress import TuningProgress
from ..tuning.report import LayerResult, make_console, print_table, to_json, write_json
from ..tuning.search import logged_to
from ..tuning.searches import SEARCHES
from ..tuning.time_limits import default_timeout
from ..tuning.tuner import Tuner
from .errors import Stopped, UsageError


def run(options: argparse.Namespace) -> int:
    # Whatever can be refused is refused before anything takes time.
    config = find(options.device)
    check_model(options.model)
    check_ops(options.ops)
    check_stages(options.print_ir_after)
    header = Header.of(
        config, model_name(options.model), options.command_line, options.pipeline, options.runner
    )
    asked = asked_logs(options, header)
    if asked.folder is None:
        raise UsageError(f"--logs {options.logs}: what is measured needs a folder")
    folder = asked.folder
    check_log(folder, header)
    check_can_make(folder)
    tracker = None if options.tracker is None else Address.parse(options.tracker)
    check_runner(options.runner, tracker)
    if tracker is not None:
        with TrackerClient(tracker) as client:
            client.require(config, options.runner)
    if options.json is not None:
        check_can_write(options.json)
    for folder_to_fill in (options.dump, options.print_ir_to):
        if folder_to_fill is not None:
            check_can_dump(folder_to_fill)
    timeout = options.timeout or default_timeout(options.runner)
    console = make_console()
    with console.status("loading, quantizing and partitioning the model") as status:
        network = asked_network(options, config, status.update)
    if options.explain:
        explain(network.partitioned, console)
    layers = select_layers(network.layers, options.ops)
    with (
        open_log(folder, header, asked.shipped) as log,
        device_pool(
            config,
            tracker,
            options.servers,
            folder / RUN_LOG_FILE,
            console,
            options.runner,
            timeout,
        ) as pool,
    ):
        return _tune(options, timeout, config, layers, log, pool, console)


def _tune(
    options: argparse.Namespace,
    timeout_seconds: float,
    config: DeviceConfig,
    layers: list[Layer],
    log: TuningLog,
    pool: DevicePool,
    console: Console,
) -> int:
    output_file, pipeline = log.folder / RUN_LOG_FILE, options.pipeline
    done = log.trials if options.resume else 0
    if log.trials:
        console.print(
            f"{log.folder} holds {log.trials} trials"
            + (", which count" if options.resume else "; new ones are added to them")
        )
    progress = TuningProgress(console, options.trials, done)
    with (
        logged_to(output_file),
        BuildPool(os.cpu_count() or 1, output_file) as builders,
        Interrupt() as interrupt,
    ):
        measurer = Measurer(
            config, builders, pool, interrupt, options.seed, timeout_seconds, pipeline
        )
        begin = SEARCHES[options.search]
        factory = begin(config, options.space, options.seed, measurer.compile)
        log.routes = options.routes
        tuner = Tuner(config, layers, log, measurer, factory, progress, options.routes)
        try:
            # After an interruption the table and the way to go on are still to come.
            with progress, contextlib.suppress(KeyboardInterrupt):
                tuner.run(max(0, options.trials - done))
        finally:
            results = with_layouts(tuner.results(), config, log)
            if options.host_columns or options.json is not None:
                results = with_host_costs(results, config, log, pipeline)
            if results:
                print_table(console, results, config, options.host_columns, options.runner)

            def schedule(result: LayerResult) -> Schedule:
                return best_schedule(result, config, log)

            if options.explain_schedule:
                explain_schedules(console, results, config, schedule, pipeline)
            stages = check_stages(options.print_ir_after)
            print_stages(stages, options.print_ir_to, results, config, schedule, pipeline)
            if options.json is not None:
                more = {"runner": options.runner} if options.runner else {}
                write_json(options.json, to_json(results, config, model=options.model, **more))
    if interrupt.requested:
        command = options.command_line
        resume = command if options.resume else f"{command} --resume"
        raise Stopped(f"what was measured is in {log.folder}; go on with: {resume}")
    if options.dump is not None:
        dump_layers(options.dump, tuner.results(), config, log, options.seed, pipeline)
    _print_summary(console, progress, log)
    return 0


def _print_summary(console: Console, progress: TuningProgress, log: TuningLog) -> None:
    failed = _listed(progress.failures)
    rejected = _listed(progress.rejections)
    console.print(
        f"{progress.measured} candidates at {progress.rate_text}"
        + (f"; failed: {failed}" if failed else "")
        + (f"; not worth measuring: {rejected}" if rejected else "")
        + f"; logs in {log.folder}",
        highlight=False,
        soft_wrap=True,
    )


def _listed(kinds: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
