"""Printing the fastest schedule of a layer."""

from __future__ import annotations

import argparse

from ..device import find
from ..tuning.asked_logs import asked_logs
from ..tuning.errors import LogError
from ..tuning.header import Header
from ..tuning.models import model_name
from ..tuning.workload import operator_of


def run(options: argparse.Namespace) -> int:
    config = find(options.device)
    model = model_name(options.model)
    header = Header.of(config, model, options.command_line, runner=options.runner)
    log = asked_logs(header, options.logs, options.own_logs_only).need()
    modules = {operator_of(mod).name: mod for mod in log.modules}
    if options.layer not in modules:
        raise LogError(f"the logs have no layer {options.layer!r}; layers: {', '.join(modules)}")
    record = log.records_of(modules[options.layer])[0]
    cycles = round(record.seconds * config.clock_khz * 1e3)
    print(f"# {options.layer} on {config.name}: {cycles:,} cycles")
    print(f"# line {record.line} of the records in {record.folder}")
    for line in log.parse(record).trace.as_python():
        print(line)
    return 0
