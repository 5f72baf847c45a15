"""The command line of tune.py."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
from typing import TYPE_CHECKING

from .options import (
    INTERRUPTED,
    add_network_options,
    add_output_options,
    add_pipeline_option,
    add_print_options,
    add_routes_option,
    default_timeout,
    report_errors,
)

if TYPE_CHECKING:
    from rich.console import Console
    from tvm.s_tir import Schedule

    from ..device import DeviceConfig
    from .layers import Layer
    from .log import TuningLog
    from .pool import DevicePool
    from .progress import TuningProgress
    from .report import LayerResult

DEFAULT_TRIALS = 300
RUN_LOG_FILE = "run.log"  # what MetaSchedule and the worker processes have to say


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="tune.py",
        description="Compile a network for an NPU, search for faster schedules of its layers by "
        "measuring them on simulated devices, write what was found to logs, and print what was "
        "gained. Production builds use the logs: python -m npu_target.build.",
        epilog="TVM's RPC has no authentication: use --tracker only in a network that you trust. "
        "Ctrl-C stops after the current step; nothing measured is lost.",
    )
    add_network_options(result)
    tuning = result.add_argument_group("tuning")
    tuning.add_argument(
        "--trials",
        type=int,
        default=DEFAULT_TRIALS,
        metavar="N",
        help="how many candidates to measure, over all layers; with --resume, those in the logs "
        "count (default: %(default)s)",
    )
    tuning.add_argument(
        "--space",
        choices=("template", "rules", "both"),
        default="both",
        help="search the hand-written templates, the schedules that rules generate, or both "
        "(default: %(default)s)",
    )
    tuning.add_argument(
        "--search",
        choices=("points", "evolutionary"),
        default="points",
        help="how: our own search between structures and tile sizes, or MetaSchedule's "
        "evolutionary one with its cost model (default: %(default)s)",
    )
    add_routes_option(
        tuning,
        "measure the device's routes, ways to compute a layer without a schedule, such as its "
        "vendor's library, beside the search, not at all, or alone",
    )
    tuning.add_argument(
        "--ops",
        metavar="OP,...",
        help="tune only layers of these operators, such as conv2d,matmul (default: all)",
    )
    tuning.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the search (default: %(default)s)"
    )
    tuning.add_argument(
        "--resume",
        action="store_true",
        help="go on with an interrupted run: what its logs hold counts as part of --trials",
    )
    measuring = result.add_argument_group("measuring")
    measuring.add_argument(
        "--tracker",
        metavar="HOST:PORT",
        help="measure on the servers of this tracker (default: start a tracker and servers on "
        "loopback, and stop them afterwards)",
    )
    measuring.add_argument(
        "--servers",
        type=int,
        metavar="N",
        help="how many servers to start, or to use of the tracker's (default: one per processor, "
        "or all of the tracker's)",
    )
    measuring.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="real time after which a candidate counts as hung (default: "
        f"{default_timeout(''):g}, with --runner {default_timeout('any'):g})",
    )
    output = result.add_argument_group("output")
    add_output_options(output)
    add_pipeline_option(output)
    add_print_options(output)
    output.add_argument(
        "--host-columns",
        action="store_true",
        help="three columns more in the table, as --json has them: the host core's instructions "
        "for a command, bytes of code in loops, and the share of the cycles in code that runs once",
    )
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    for name, least in (("trials", 1), ("servers", 1)):
        value = getattr(options, name)
        if value is not None and value < least:
            parser().error(f"--{name} must be at least {least}, got {value}")
    if options.timeout is None:
        options.timeout = default_timeout(options.runner)
    if not options.timeout > 0:
        parser().error(f"--timeout must be more than 0, got {options.timeout:g}")
    command = shlex.join(["python", "tune.py", *(sys.argv[1:] if arguments is None else arguments)])
    return report_errors(lambda: _run(options, command))


def _run(options: argparse.Namespace, command: str) -> int:
    from rpc_server.address import Address
    from rpc_server.tracker_client import TrackerClient

    from ..device import find
    from ..partition import explain
    from ..stages import check_stages
    from .devices import check_runner, device_pool
    from .dump import check_can_dump
    from .header import Header
    from .log import check_can_make, check_log, log_folder, open_log
    from .models import check_model, model_name
    from .network import asked_network, check_ops, select_layers
    from .report import check_can_write, make_console

    # Whatever can be refused is refused before anything takes time.
    config = find(options.device)
    check_model(options.model)
    check_ops(options.ops)
    check_stages(options.print_ir_after)
    header = Header.of(config, model_name(options.model), command, options.pipeline, options.runner)
    folder = log_folder(options.logs, header)
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
    console = make_console()
    with console.status("loading, quantizing and partitioning the model") as status:
        network = asked_network(options, config, status.update)
    if options.explain:
        explain(network.partitioned, console)
    layers = select_layers(network.layers, options.ops)
    with (
        open_log(folder, header) as log,
        device_pool(
            config,
            tracker,
            options.servers,
            folder / RUN_LOG_FILE,
            console,
            options.runner,
            options.timeout,
        ) as pool,
    ):
        return _tune(options, command, config, layers, log, pool, console)


def _tune(
    options: argparse.Namespace,
    command: str,
    config: DeviceConfig,
    layers: list[Layer],
    log: TuningLog,
    pool: DevicePool,
    console: Console,
) -> int:
    from ..stages import check_stages
    from .build_pool import BuildPool
    from .dump import best_schedule, dump_layers, with_host_costs, with_layouts
    from .explain_schedule import explain_schedules
    from .interrupt import Interrupt
    from .measuring import Measurer
    from .print_stages import print_stages
    from .progress import TuningProgress
    from .report import print_table, to_json, write_json
    from .search import logged_to
    from .searches import SEARCHES
    from .tuner import Tuner

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
            config, builders, pool, interrupt, options.seed, options.timeout, pipeline
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
        resume = command if options.resume else f"{command} --resume"
        print(
            f"stopped; what was measured is in {log.folder}; go on with: {resume}", file=sys.stderr
        )
        return INTERRUPTED
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
    )


def _listed(kinds: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
