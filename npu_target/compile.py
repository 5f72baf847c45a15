"""`python -m npu_target.compile`: one operator, by its default schedule, stage by stage.

    python -m npu_target.compile matmul batch=1 m=40 k=48 n=20 --pipeline O0 --print-ir-after placed

What it prints is what a network's layer goes through, too: tune.py and npu_target.build take the
same options.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from typing import Any

from .device import DEFAULT_DEVICE
from .tuning.options import add_pipeline_option, add_print_options, report_errors


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m npu_target.compile",
        description="Compile one operator for a device and print its program, or what each stage "
        "of the compiler makes of it.",
    )
    result.add_argument("operator", help="its name, such as matmul")
    result.add_argument(
        "attributes",
        nargs="*",
        metavar="NAME=VALUE",
        help="of the operator, such as m=64 bias=False 'pad=(1, 1, 1, 1)'",
    )
    result.add_argument("--device", default=DEFAULT_DEVICE, metavar="NAME|FILE")
    result.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the program there")
    add_pipeline_option(result)
    add_print_options(result)
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return report_errors(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    from .codegen_tir import build_program
    from .device import find
    from .schedule_rules import default_schedule
    from .stages import StagePrinter, check_stages
    from .topi import make

    config = find(options.device)
    stages = check_stages(options.print_ir_after)
    operator = make(options.operator, dict(map(_attribute, options.attributes))).kernel()
    func = default_schedule(operator, config).mod["main"]
    printer = StagePrinter(operator.name, stages, options.print_ir_to)
    program = build_program(func, config, operator.name, None, options.pipeline, printer)
    if options.output is not None:
        program.save(options.output)
    elif not stages:
        print(program)
    return 0


def _attribute(text: str) -> tuple[str, Any]:
    from .topi import OperatorError

    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError) as error:
        raise OperatorError(f"{text!r} is no attribute: needs NAME=VALUE, such as m=64") from error


if __name__ == "__main__":
    sys.exit(main())
