"""Measuring the schedules in tuning logs anew."""

from __future__ import annotations

import argparse
import os

from rpc_server.credentials import read_credentials

from ..device import find, preset
from ..tuning.build_pool import BuildPool
from ..tuning.devices import check_runner, device_pool
from ..tuning.header import Header
from ..tuning.interrupt import Interrupt
from ..tuning.log import RUN_LOG_FILE, read_log
from ..tuning.measuring import Measurer
from ..tuning.progress import TuningProgress
from ..tuning.remeasure import remeasure, remeasured_folder
from ..tuning.report import make_console
from ..tuning.time_limits import default_timeout


def run(options: argparse.Namespace) -> int:

    header = Header.read(options.folder)
    config = find(options.device) if options.device else preset(header.device)
    header.check_device(Header.of(config, header.model, ""), options.folder)
    runner = header.runner if options.runner is None else options.runner
    check_runner(runner, options.tracker)
    mine = read_credentials(options.token_file, options.tls_ca)
    target = remeasured_folder(options.folder, header, runner)
    timeout = options.timeout or default_timeout(runner)
    console = make_console()
    log = read_log(options.folder, header)
    total = sum(min(options.best or 1 << 30, len(log.records_of(w.mod))) for w in log.workloads)
    with (
        device_pool(
            config,
            options.tracker,
            options.servers,
            options.folder / RUN_LOG_FILE,
            console,
            runner,
            timeout,
            mine,
        ) as pool,
        BuildPool(os.cpu_count() or 1, options.folder / RUN_LOG_FILE) as builders,
        Interrupt() as interrupt,
        TuningProgress(console, total) as progress,
    ):
        pool.told = progress.waits
        measurer = Measurer(
            config, builders, pool, interrupt, timeout_seconds=timeout, pipeline=header.options
        )
        results = remeasure(options.folder, options.best, config, measurer, progress, runner)
    for result in results:
        now = "none is left" if result.cycles is None else f"{result.cycles:,}"
        console.print(
            f"{result.name}: {result.cycles_before:,} -> {now} cycles, "
            f"{result.kept} schedules kept, {result.dropped} dropped",
            highlight=False,
        )
    if target != options.folder:
        console.print(f"wrote {target}", highlight=False)
    return 0
