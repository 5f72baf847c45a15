"""Exporting: a network as C for the device's own host."""

from __future__ import annotations

import argparse
from dataclasses import replace

from ..export.calls import calls_of
from ..export.folder import check_folder, check_goal, write_folder
from ..export.golden import Golden, golden_inputs, golden_outputs
from ..export.integer_inputs import quantized_inputs, quantizer_texts, with_integer_inputs
from ..export.network import place
from ..export.report import to_json
from ..export.scales import scales_of
from ..export.times import network_time
from ..files import check_can_write
from ..simulator_sources import has_simulator
from ..tuning.choose import cycles_of
from ..tuning.layer_table import print_layers
from ..tuning.models import model_name
from ..tuning.production import choose, production
from ..tuning.report import make_console, write_json


def run(options: argparse.Namespace) -> int:
    wanted = production(options, options.command_line)
    config = wanted.config
    check_folder(options.output)
    check_goal(config, options.goal)
    if options.json is not None:
        check_can_write(options.json)
    console = make_console()
    model, results = choose(wanted, options, console)
    print_layers(console, results, config, runner=wanted.runner)
    with console.status("compiling"):
        mod = model.with_kernels(wanted.chooser.device_function).mod
        calls = calls_of(mod)
        reads_integers = options.input_type == "integer"
        given = with_integer_inputs(calls) if reads_integers else calls
        network = replace(
            place(model_name(options.model), config, given),
            quantizers=quantizer_texts(calls) if reads_integers else (),
            scales=scales_of(model.partitioned.mod),
        )
    if options.most_memory is not None:
        network.check_memory(options.most_memory)
    with console.status("running the build, for golden/"):
        (drawn,) = model.model.calibration_inputs(1, options.weights_seed + 1)
        inputs = golden_inputs(drawn, calls.inputs)
        outputs = golden_outputs(mod, inputs)
        if reads_integers:
            inputs = quantized_inputs(calls, inputs)
        golden = Golden(inputs, outputs)
    programs = [layer.program for layer in network.layers if layer.program is not None]
    cycles = {program.name: cycles_of(program) for program in programs}
    write_folder(options.output, network, cycles, golden, options.goal)
    time = network_time(network)
    described = to_json(network, cycles, time)
    console.print(time.text(config.clock_khz), highlight=False)
    console.print(
        f"{described['kernels']} kernels for {len(programs)} layers, "
        f"{described['host_functions']} functions of the host for "
        f"{len(network.layers) - len(programs)}; arena {network.arena_bytes:,} bytes, weights "
        f"{network.weights_bytes:,}",
        highlight=False,
    )
    if options.json is not None:
        write_json(options.json, described)
    check = " check" if has_simulator(config.kind) else ""
    console.print(f"wrote {options.output}; try: make -C {options.output}{check}", highlight=False)
    return 0
