"""Compiling one operator by its default schedule, stage by stage."""

from __future__ import annotations

import argparse

from ..codegen_tir import build_program
from ..device import find
from ..schedule_rules import default_schedule
from ..stages import StagePrinter, check_stages
from ..topi import make
from ..tuning.chosen_defaults import choose_defaults_together


def run(options: argparse.Namespace) -> int:
    config = find(options.device)
    stages = check_stages(options.print_ir_after)
    operator = make(options.operator, dict(options.attributes)).kernel()
    choose_defaults_together([operator], config)
    func = default_schedule(operator, config).mod["main"]
    printer = StagePrinter(operator.name, stages, options.print_ir_to)
    program = build_program(func, config, operator.name, None, options.pipeline, printer)
    if options.output is not None:
        program.save(options.output)
    elif not stages:
        print(program)
    return 0
