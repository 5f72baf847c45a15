"""Leaving layers on disk for other models of the device: program, arrays, and how they belong
together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tvm.s_tir import Schedule

from ..codegen_tir import build, build_program
from ..device import DeviceConfig, kind_of
from ..device_api import host_cost
from ..files import open_atomically, write_atomically
from ..packing import Packing, packed
from ..partition import Partitioned
from ..passes.packings import packings
from ..pipeline_options import DEFAULT as DEFAULT_PIPELINE
from ..pipeline_options import PipelineOptions
from ..program import Program
from ..program.addresses import default_addresses
from ..relax_graph import Graph, constant_of, op_name
from ..schedule_rules.host_bounds import may_outrank, ranked
from ..topi import Operator
from ..topi.routed import route_name
from .choose import cycles_of
from .errors import TuningError
from .expected import expected_output, sample_inputs
from .log import TuningLog
from .report import DEFAULT, TUNED, LayerResult
from .schedules import default_of, tuned_schedule


def check_can_dump(folder: Path) -> None:
    """Make the folder. Raises TuningError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TuningError(f"{folder} cannot be written: {error.strerror}") from error


def best_program(
    result: LayerResult,
    config: DeviceConfig,
    log: TuningLog,
    pipeline: PipelineOptions = DEFAULT_PIPELINE,
) -> Program:
    """The best known program of a layer. Raises LogError as `tuned_schedule` does."""
    schedule = best_schedule(result, config, log)
    name = result.layer.operator.name
    return build_program(schedule.mod["main"], config, name, None, pipeline)


def best_schedule(result: LayerResult, config: DeviceConfig, log: TuningLog) -> Schedule:
    """The best known schedule of a layer. Raises LogError as `tuned_schedule` does."""
    operator = result.layer.operator
    schedule = tuned_schedule(operator, config, log) if result.source == TUNED else None
    return schedule or default_of(operator, config)


def with_layouts(
    results: Sequence[LayerResult], config: DeviceConfig, log: TuningLog
) -> list[LayerResult]:
    """The results with the arguments that each layer's best known schedule has packed, and the
    route that it is in truth.

    Raises LogError as `tuned_schedule` does.
    """
    functions = [best_schedule(result, config, log).mod["main"] for result in results]
    return [
        replace(result, packed=tuple(packings(func, config)), route=route_name(func))
        for result, func in zip(results, functions, strict=True)
    ]


def as_built(
    results: Sequence[LayerResult], config: DeviceConfig, log: TuningLog
) -> list[LayerResult]:
    """The results of a search, of each layer what a build takes: not the logs' fastest schedule
    where the default one is within the host's bounds, and that is not, and hardly faster.

    Raises LogError as `tuned_schedule` does.
    """
    return [_as_built(result, config, log) for result in results]


def _as_built(result: LayerResult, config: DeviceConfig, log: TuningLog) -> LayerResult:
    may_be_default = may_outrank(result.default_cycles, result.cycles)
    if result.source != TUNED or log.header.runner or not may_be_default:
        return result
    default = replace(result, source=DEFAULT, cycles=result.default_cycles, is_new=False)
    ranks = [
        ranked(either.cycles, host_cost(best_program(either, config, log).to_bytes()))
        for either in (result, default)
    ]
    return result if ranks[0] < ranks[1] else default


def with_host_costs(
    results: Sequence[LayerResult],
    config: DeviceConfig,
    log: TuningLog,
    pipeline: PipelineOptions = DEFAULT_PIPELINE,
) -> list[LayerResult]:
    """The results with what each layer's best known program asks of the host core.

    Raises LogError as `tuned_schedule` does.
    """
    return [
        replace(result, host=host_cost(best_program(result, config, log, pipeline).to_bytes()))
        for result in results
    ]


def dump_layers(
    folder: Path,
    results: Sequence[LayerResult],
    config: DeviceConfig,
    log: TuningLog,
    seed: int,
    pipeline: PipelineOptions = DEFAULT_PIPELINE,
) -> None:
    """Dump the best known program of each layer, with inputs drawn from `seed`.

    Raises LogError or TuningError as `tuned_schedule` and `dump_layer` do.
    """
    for result in results:
        operator = result.layer.operator
        func = best_schedule(result, config, log).mod["main"]
        program, layouts = build(func, config, operator.name, None, pipeline)
        inputs = sample_inputs(operator, seed)
        dump_layer(folder, operator.name, program, operator, inputs, result.cycles, layouts)


def dump_regions(
    folder: Path,
    partitioned: Partitioned,
    schedule: Callable[[Operator], Schedule],
    config: DeviceConfig,
    pipeline: PipelineOptions = DEFAULT_PIPELINE,
) -> None:
    """Dump the program of each region of a network with its own weights and scales; activations
    are drawn at random. `schedule` gives an operator's schedule. Raises as `dump_layer` does.
    """
    constants = _region_constants(partitioned)
    for region in partitioned.regions:
        operator = region.operator.kernel()
        func = schedule(operator).mod["main"]
        program, layouts = build(func, config, region.name, None, pipeline)
        inputs = {**sample_inputs(operator, 0), **constants[region.name]}
        dump_layer(folder, region.name, program, operator, inputs, cycles_of(program), layouts)


def _region_constants(partitioned: Partitioned) -> dict[str, dict[str, np.ndarray]]:
    """The constant arguments of each region's call, by the argument's name."""
    arguments = {region.name: region.operator.kernel().args for region in partitioned.regions}
    constants: dict[str, dict[str, np.ndarray]] = {}
    for value in Graph(partitioned.mod).value.values():
        if op_name(value) != "relax.call_tir" or value.args[0].name_hint not in arguments:
            continue
        name = value.args[0].name_hint
        arrays = [constant_of(argument) for argument in value.args[1].fields]
        constants[name] = {
            arg.name: array
            for arg, array in zip(arguments[name], arrays, strict=False)  # the output has none
            if array is not None
        }
    return constants


def _layout(packing: Packing | None) -> dict[str, Any]:
    return {} if packing is None else {"packing": packing.to_json()}


def dump_layer(
    folder: Path,
    name: str,
    program: Program,
    operator: Operator,
    inputs: Mapping[str, np.ndarray],
    cycles: int,
    layouts: Mapping[str, Packing],
) -> None:
    """Write `<name>.npu`, `<name>.<argument>.npy` for each argument (for the output, what is
    expected there), and `<name>.json` with the rest.

    `operator` is what the program computes, `inputs` its input arrays by name; those that have a
    packing in `layouts` are written packed. Raises TuningError where the folder cannot be written.
    """
    laid_out = packed(inputs, layouts)
    arrays = {arg.name: laid_out[arg.name] for arg in program.args if arg.role == "input"}
    arrays[program.args[-1].name] = expected_output(
        operator, inputs, kind_of(program.config).numbers
    )
    addresses = default_addresses(program)
    described = {
        "layer": name,
        "op": operator.op,
        "attrs": operator.attrs(),
        "device": program.config.name,
        "device_hash": program.config.hash,
        "cycles": cycles,
        "program": f"{name}.npu",
        "args": [
            {
                "name": arg.name,
                "role": arg.role,
                "dtype": arg.dtype,
                "shape": list(arg.shape),
                "bytes": arg.nbytes,
                "address": f"{addresses[arg.name]:#x}",
                "file": f"{name}.{arg.name}.npy",
                **_layout(layouts.get(arg.name)),
            }
            for arg in program.args
        ],
        "expand": " ".join(
            [
                f"npu-target program expand {name}.npu",
                *(f"--address {name}={address:#x}" for name, address in addresses.items()),
            ]
        ),
    }
    try:
        program.save(folder / f"{name}.npu")
        for arg in program.args:
            with open_atomically(folder / f"{name}.{arg.name}.npy") as file:
                np.save(file, arrays[arg.name])
        text = json.dumps(described, indent=2) + "\n"
        write_atomically(folder / f"{name}.json", text.encode())
    except OSError as error:
        raise TuningError(f"{folder} cannot be written: {error.strerror}") from error
