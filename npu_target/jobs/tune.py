"""Searching for faster schedules of a network's layers, or of one operator."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console
from tvm.s_tir import Schedule

from rpc_server.credentials import read_credentials
from rpc_server.tracker_client import TrackerClient

from ..device import DeviceConfig, find
from ..export.errors import ExportError
from ..export.times import NetworkTime
from ..files import check_can_write
from ..html_report.available import check_can_report
from ..html_report.documents import network_document
from ..html_report.page import write_page
from ..partition import explain
from ..topi import Operator
from ..topi.spelled import parse_operator
from ..tuning.asked_logs import asked_logs
from ..tuning.devices import check_runner, device_pool
from ..tuning.dump import (
    best_program,
    best_schedule,
    check_can_dump,
    dump_layers,
    with_host_costs,
)
from ..tuning.errors import TuningError
from ..tuning.explain_schedule import explain_schedules
from ..tuning.failure import DOES_NOT_APPLY, DOES_NOT_FIT
from ..tuning.header import Header
from ..tuning.kernels import best_kernels
from ..tuning.layers import Layer, layers_of
from ..tuning.log import RUN_LOG_FILE, TuningLog, check_can_make, check_log, open_log
from ..tuning.models import check_model, model_name
from ..tuning.network import Network, asked_network, check_ops, select_layers
from ..tuning.pool import DevicePool
from ..tuning.print_stages import print_stages
from ..tuning.progress import TuningProgress
from ..tuning.report import LayerResult, make_console, to_json, write_json
from ..tuning.search import PRUNED
from ..tuning.time_limits import default_timeout
from ..tuning.tune_layers import SearchOptions, tune_layers
from ..whole_network import print_network, said_unknown, time_of, with_sequence
from .errors import Stopped, UsageError, of_option
from .print_options import asked_stages

# What only a network has, by the options' names.
_OF_NETWORKS = (
    "shape", "weights", "calibrate", "host", "on_device", "exact", "all_on_device", "ops", "explain"
)  # fmt: skip

# Why candidates are not measured, in words.
_REJECTED = {
    PRUNED: "that cannot beat the best known",
    DOES_NOT_FIT: "that do not fit the memories",
    DOES_NOT_APPLY: "that do not apply",
}


def run(options: argparse.Namespace) -> int:
    # Whatever can be refused is refused before anything takes time.
    config = find(options.device)
    operator = _operator(options, config)
    name = model_name(options.model) if operator is None else operator.name
    stages = asked_stages(options)
    header = Header.of(config, name, options.command_line, options.pipeline, options.runner)
    asked = asked_logs(header, options.logs, options.own_logs_only)
    if asked.folder is None:
        raise UsageError(f"--logs {options.logs}: what is measured needs a folder")
    folder = asked.folder
    check_log(folder, header)
    check_can_make(folder)
    check_runner(options.runner, options.tracker)
    mine = read_credentials(options.token_file, options.tls_ca)
    if options.tracker is not None:
        with TrackerClient(options.tracker, credentials=mine) as client:
            client.require(config, options.runner)
    if options.json is not None:
        check_can_write(options.json)
    if options.report is not None:
        check_can_report(options.report)
    for folder_to_fill in (options.dump, options.print_ir_to):
        if folder_to_fill is not None:
            check_can_dump(folder_to_fill)
    timeout = options.timeout or default_timeout(options.runner)
    console = make_console()
    layers, network = _layers(options, operator, config, console)
    if not layers:
        raise TuningError(
            f"nothing of {name} is for {config.name} to compute, so there is nothing to tune; "
            "--explain says why"
        )
    with (
        open_log(folder, header, asked.shipped) as log,
        device_pool(
            config,
            options.tracker,
            options.servers,
            folder / RUN_LOG_FILE,
            console,
            options.runner,
            timeout,
            mine,
        ) as pool,
    ):
        return _tune(options, stages, timeout, config, layers, network, log, pool, console)


def _operator(options: argparse.Namespace, config: DeviceConfig) -> Operator | None:
    """The one of --op, None where a network is asked for, which is checked."""
    if options.op is None:
        check_model(options.model)
        with of_option("--ops"):
            check_ops(options.ops)
        return None
    for name in _OF_NETWORKS:
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')}: is for networks, not for --op")
    with of_option("--op"):
        return parse_operator(options.op, config)


def _layers(
    options: argparse.Namespace, operator: Operator | None, config: DeviceConfig, console: Console
) -> tuple[list[Layer], Network | None]:
    """What to tune, and the network that it is of."""
    if operator is not None:
        operator.prim_func(config)  # raises OperatorError for what the device cannot compute
        return layers_of([operator]), None
    with console.status("loading, quantizing and partitioning the model") as status:
        network = asked_network(options, config, status.update)
    if options.explain:
        explain(network.partitioned, console)
    return select_layers(network.layers, options.ops), network


def _tune(
    options: argparse.Namespace,
    stages: frozenset[str],
    timeout_seconds: float,
    config: DeviceConfig,
    layers: list[Layer],
    network: Network | None,
    log: TuningLog,
    pool: DevicePool,
    console: Console,
) -> int:
    pipeline = options.pipeline

    def tell(results: list[LayerResult], was_interrupted: bool) -> None:
        if options.host_columns or options.json is not None:
            results = with_host_costs(results, config, log, pipeline)
        time, why_not = None, ""
        # Who pressed Ctrl-C does not wait for it.
        is_whole = network is not None and len(results) == len(network.layers)
        if network is not None and is_whole and not was_interrupted:
            with console.status("running the network's layers one after another"):
                try:
                    partitioned = network.with_kernels(best_kernels(results, config, log, pipeline))
                    time = time_of(log.header.model, config, partitioned)
                    results = with_sequence(results, time, partitioned)
                except ExportError as error:
                    why_not = said_unknown(error)
        if results:
            print_network(console, results, config, time, options.host_columns, options.runner)
        if why_not:
            console.print(why_not, highlight=False)

        def schedule(result: LayerResult) -> Schedule:
            return best_schedule(result, config, log)

        if options.explain_schedule:
            explain_schedules(console, results, config, schedule, pipeline)
        print_stages(stages, options.print_ir_to, results, config, schedule, pipeline)
        if options.json is not None:
            more: dict[str, Any] = {"runner": options.runner} if options.runner else {}
            if time is not None:
                more["in_sequence"] = time.to_json()
            write_json(
                options.json,
                to_json(results, config, model=options.model or log.header.model, **more),
            )
        if options.report is not None and results:
            _report(options, config, results, network, time, log, console)

    search = SearchOptions(
        options.trials,
        options.space,
        options.search,
        options.routes,
        options.seed,
        options.resume,
    )
    tuned = tune_layers(config, layers, log, pool, console, search, timeout_seconds, pipeline, tell)
    if tuned.was_interrupted:
        command = options.command_line
        resume = command if options.resume else f"{command} --resume"
        raise Stopped(f"what was measured is in {log.folder}; go on with: {resume}")
    if options.dump is not None:
        dump_layers(options.dump, tuned.results, config, log, options.seed, pipeline)
    _print_summary(console, tuned.progress, log)
    return 0


def _report(
    options: argparse.Namespace,
    config: DeviceConfig,
    results: list[LayerResult],
    network: Network | None,
    time: NetworkTime | None,
    log: TuningLog,
    console: Console,
) -> None:
    pipeline = options.pipeline
    with console.status(f"making {options.report}") as status:
        document = network_document(
            log.header.model,
            config,
            options.command_line,
            results,
            lambda result: best_program(result, config, log, pipeline),
            None if network is None else network.partitioned,
            log,
            time,
            runner=options.runner,
            progress=lambda name: status.update(f"running for the report: {name}"),
        )
        write_page(options.report, document)
    console.print(f"wrote {options.report}", highlight=False, soft_wrap=True)


def _print_summary(console: Console, progress: TuningProgress, log: TuningLog) -> None:
    failed = _listed(progress.failures)
    rejected = _listed({_REJECTED.get(k, k): n for k, n in progress.rejections.items()})
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
