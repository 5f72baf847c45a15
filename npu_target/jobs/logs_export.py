"""Writing the fastest schedules of each layer of a model as a folder of logs."""

from __future__ import annotations

import argparse

from ..device import find
from ..tuning.asked_logs import asked_logs
from ..tuning.header import Header
from ..tuning.merge import merge
from ..tuning.models import model_name


def run(options: argparse.Namespace) -> int:
    config = find(options.device)
    model = model_name(options.model)
    header = Header.of(config, model, options.command_line, runner=options.runner)
    log = asked_logs(header, options.logs, options.own_logs_only).need()
    merged = merge([log], options.output, options.command_line, options.best)
    print(f"wrote {merged.folder}: {merged.records} schedules")
    return 0
