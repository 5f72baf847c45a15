"""Building: a network as one file that runs on the device and its host.

Nothing is tuned. Layers that the tuning logs know get their fastest schedule, the others their
default one; the table says which. Each schedule's program is run once on the simulated device and
compared with NumPy's answer before it goes into the file.
"""

from __future__ import annotations

import argparse
from typing import Any

from tvm.s_tir import Schedule

from ..build import check_can_write_built, compile_network, write_built
from ..built_file import Built
from ..codegen_tir import build_program
from ..export.errors import ExportError
from ..export.times import NetworkTime
from ..files import check_can_write
from ..html_report.available import check_can_report
from ..html_report.documents import network_document
from ..html_report.page import write_page
from ..program import Program
from ..tuning.dump import check_can_dump, dump_regions
from ..tuning.explain_schedule import explain_schedules
from ..tuning.models import inputs_of, model_name
from ..tuning.print_stages import print_stages
from ..tuning.production import choose, production
from ..tuning.report import LayerResult, make_console, to_json, write_json
from ..whole_network import print_network, said_unknown, time_of, with_sequence
from .print_options import asked_stages


def run(options: argparse.Namespace) -> int:
    stages = asked_stages(options)
    check_can_write_built(options.output)
    if options.json is not None:
        check_can_write(options.json)
    if options.report is not None:
        check_can_report(options.report)
    wanted = production(options, options.command_line)
    config, chooser, pipeline = wanted.config, wanted.chooser, options.pipeline
    for folder in (options.dump, options.print_ir_to):
        if folder is not None:
            check_can_dump(folder)
    console = make_console()
    network, results = choose(wanted, options, console)

    def schedule(result: LayerResult) -> Schedule:
        return chooser.schedule(result.layer.operator)

    if options.explain_schedule:
        explain_schedules(console, results, config, schedule, pipeline)
    print_stages(stages, options.print_ir_to, results, config, schedule, pipeline)
    with console.status(f"compiling {options.output}"):
        partitioned = network.with_kernels(chooser.device_function)
        built = Built(model_name(options.model), config.name, inputs_of(network.model))
        write_built(compile_network(partitioned.mod), options.output, built)
    more: dict[str, Any] = {"runner": wanted.runner} if wanted.runner else {}
    time: NetworkTime | None = None
    why_not = ""
    with console.status("running layers one after another"):
        try:
            time = time_of(model_name(options.model), config, partitioned)
            results = with_sequence(results, time, partitioned)
            more["in_sequence"] = time.to_json()
        except ExportError as error:
            why_not = said_unknown(error)
    print_network(console, results, config, time, runner=wanted.runner)
    if why_not:
        console.print(why_not, highlight=False)
    console.print(f"{chooser.n_checked} programs compute what NumPy does", highlight=False)
    if options.json is not None:
        write_json(options.json, to_json(results, config, model=options.model, **more))
    if options.report is not None:

        def program(result: LayerResult) -> Program:
            func, name = schedule(result).mod["main"], result.layer.name
            return build_program(func, config, name, None, pipeline)

        with console.status(f"making {options.report}") as status:
            document = network_document(
                model_name(options.model),
                config,
                options.command_line,
                results,
                program,
                partitioned,
                wanted.log,
                time,
                wanted.runner,
                lambda name: status.update(f"running for the report: {name}"),
            )
            write_page(options.report, document)
        console.print(f"wrote {options.report}", highlight=False, soft_wrap=True)
    if options.dump is not None:
        dump_regions(options.dump, partitioned, chooser.schedule, config, pipeline)
    said = f"wrote {options.output}; tuning logs: {wanted.asked.described}"
    console.print(said, highlight=False, soft_wrap=True)
    return 0
