"""`python -m npu_target.export`: a network as C for the device's own host."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ..tuning.options import (
    add_explain_option,
    add_network_options,
    add_production_options,
    report_errors,
)

# What an export is for, and what make calls it.
GOALS = {"native": "native", "linux": "linux", "baremetal": "elf"}


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m npu_target.export",
        description="Write a folder of C that runs a network on the device and its own host, with "
        "the schedules that tuning found (see tune.py). Tunes nothing itself. The folder needs "
        "neither TVM nor Python: make -C DIR check.",
    )
    result.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    add_network_options(result)
    add_production_options(result)
    add_explain_option(result)
    result.add_argument(
        "--for",
        dest="goal",
        choices=GOALS,
        default="native",
        help="what a bare `make` builds: a program for this machine with the device simulated, or "
        "for the device's core, under Linux or without an operating system (default: %(default)s)",
    )
    result.add_argument(
        "--input",
        choices=("float", "integer"),
        default="float",
        help="what the caller gives: floats, which the host quantizes first, or the integers that "
        "it makes of them (default: %(default)s)",
    )
    result.add_argument(
        "--memory",
        type=int,
        metavar="BYTES",
        help="fail where weights, tensors, inputs and outputs need more than this",
    )
    result.add_argument(
        "--json", type=Path, metavar="FILE", help="write sizes and layers for machines as well"
    )
    return result


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return report_errors(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    from ..tuning.choose import cycles_of
    from ..tuning.models import model_name
    from ..tuning.production import choose, production
    from ..tuning.report import check_can_write, make_console, write_json
    from .calls import calls_of
    from .folder import check_folder, check_goal, write_folder
    from .golden import Golden, golden_inputs, golden_outputs
    from .integer_inputs import quantized_inputs, quantizer_texts, with_integer_inputs
    from .network import place
    from .report import to_json
    from .scales import scales_of

    wanted = production(options, "python -m npu_target.export")
    config = wanted.config
    check_folder(options.output)
    check_goal(config, GOALS[options.goal])
    if options.json is not None:
        check_can_write(options.json)
    console = make_console()
    model, _ = choose(wanted, options, console)
    with console.status("compiling"):
        mod = model.with_kernels(wanted.chooser.device_function).mod
        calls = calls_of(mod)
        reads_integers = options.input == "integer"
        given = with_integer_inputs(calls) if reads_integers else calls
        network = replace(
            place(model_name(options.model), config, given),
            quantizers=quantizer_texts(calls) if reads_integers else (),
            scales=scales_of(model.partitioned.mod),
        )
    if options.memory is not None:
        network.check_memory(options.memory)
    with console.status("running the build, for golden/"):
        (drawn,) = model.model.calibration_inputs(1, options.weights_seed + 1)
        inputs = golden_inputs(drawn, calls.inputs)
        outputs = golden_outputs(mod, inputs)
        if reads_integers:
            inputs = quantized_inputs(calls, inputs)
        golden = Golden(inputs, outputs)
    programs = [layer.program for layer in network.layers if layer.program is not None]
    cycles = {program.name: cycles_of(program) for program in programs}
    write_folder(options.output, network, cycles, golden, GOALS[options.goal])
    described = to_json(network, cycles)
    console.print(
        f"{described['kernels']} kernels for {len(programs)} layers, "
        f"{described['host_functions']} functions of the host for "
        f"{len(network.layers) - len(programs)}; arena {network.arena_bytes:,} bytes, weights "
        f"{network.weights_bytes:,}",
        highlight=False,
    )
    if options.json is not None:
        write_json(options.json, described)
    console.print(f"wrote {options.output}; try: make -C {options.output} check", highlight=False)
    return 0
