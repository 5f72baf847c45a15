"""Compiling one operator by its default schedule, stage by stage."""

from __future__ import annotations

import argparse

from ..codegen_tir import build_program
from ..device import find
from ..files import check_can_write
from ..schedule_rules import default_schedule
from ..stages import StagePrinter
from ..topi.spelled import parse_operator
from ..tuning.chosen_defaults import choose_defaults_together
from ..tuning.dump import check_can_dump
from .errors import of_option
from .print_options import asked_stages


def run(options: argparse.Namespace) -> int:
    config = find(options.device)
    stages = asked_stages(options)
    with of_option("OPERATOR"):
        operator = parse_operator(options.operator, config).kernel()
    if options.output is not None:
        check_can_write(options.output)
    if options.print_ir_to is not None:
        check_can_dump(options.print_ir_to)
    choose_defaults_together([operator], config)
    func = default_schedule(operator, config).mod["main"]
    printer = StagePrinter(operator.name, stages, options.print_ir_to)
    program = build_program(func, config, operator.name, None, options.pipeline, printer)
    if options.output is not None:
        program.save(options.output)
    elif not stages:
        print(program)
    return 0
