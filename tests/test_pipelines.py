"""Whatever is optimized, the bits stay: every operator in every pipeline, on the simulated device,
which refuses races."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import IRModule
from tvm.s_tir import Schedule

from npu_target import wiring
from npu_target.codegen.operations import Engine
from npu_target.codegen.placed import PlacedCopy, PlacedLoop, PlacedStep
from npu_target.codegen_tir import PIPELINE, CodegenError, build_program
from npu_target.conformance.runs import expected, inputs_of, launched
from npu_target.device import DEFAULT_DEVICE, DeviceConfig, preset
from npu_target.device_api import program_cycles
from npu_target.devices.gemmini import GEMMINI
from npu_target.pipeline_options import O0, O1, O2, PipelineOptions, flags
from npu_target.schedule_rules import default_schedule
from npu_target.schedule_rules.space import designs
from npu_target.target import make_target
from npu_target.topi import Conv2d, Matmul, Operator
from npu_target.topi.registry import operators_of

ALONE = [PipelineOptions.parse(f"O0,+{flag}") for flag in flags()]
WITHOUT = [PipelineOptions.parse(f"O2,-{flag}") for flag in flags()]
DEVICES = [config.name for config in GEMMINI.presets]
_SAMPLES = 3


def examples(device: str) -> list[Operator]:
    config = preset(device)
    return [example for cls in operators_of(config) for example in cls.examples(config)]


def check(
    operator: Operator, config: DeviceConfig, mod: IRModule, pipelines: list[PipelineOptions]
) -> None:
    """What each pipeline makes of a schedule computes what NumPy does."""
    inputs, wanted = inputs_of(operator, config, mod), expected(operator, config)
    for options in pipelines:
        program = build_program(mod["main"], config, operator.name, options=options)
        np.testing.assert_array_equal(launched(program, inputs), wanted, str(options))


def by_name(operator: Operator) -> str:
    return operator.name


@pytest.mark.long
@pytest.mark.parametrize("operator", examples(DEFAULT_DEVICE), ids=by_name)
def test_every_operator_with_nothing_and_with_each_optimization_alone(operator):
    config = preset(DEFAULT_DEVICE)
    mod = default_schedule(operator.kernel(), config).mod
    check(operator, config, mod, [O0, *ALONE, O1, O2])


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
def test_every_operator_in_every_pipeline(device):
    config = preset(device)
    for operator in examples(device):
        mod = default_schedule(operator.kernel(), config).mod
        check(operator, config, mod, [O0, *ALONE, O1, *WITHOUT, O2])


def sampled(operator: Operator, config: DeviceConfig, seed: int) -> list[Schedule]:
    """Schedules of the space of tuning, one of each structure, tiles drawn."""
    sch = Schedule(operator.kernel().prim_func(config), seed=seed)
    return [design.schedule for design in designs(sch, operator.kernel(), "both")]


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
def test_drawn_schedules_in_every_pipeline(device):
    config = preset(device)
    n_checked = 0
    for operator in examples(device):
        found = sampled(operator, config, seed=3)
        draw = np.random.default_rng(3)
        for index in draw.permutation(len(found))[:_SAMPLES]:
            mod = found[index].mod
            try:
                build_program(mod["main"], config, operator.name)
            except CodegenError:
                continue  # tiles that do not fit
            check(operator, config, mod, [O0, *ALONE, O1, *WITHOUT, O2])
            n_checked += 1
    assert n_checked > len(examples(device))


LAYERS = [Conv2d(1, 14, 14, 64, 64, 3, 3, pad=(1, 1, 1, 1)), Matmul(1, 512, 256, 256)]


@pytest.mark.parametrize("operator", LAYERS, ids=by_name)
def test_optimizations_are_worth_it(operator):
    """All together: one load too many in a row blocks the host, so copies that are not interleaved
    gain nothing by coming earlier."""
    config = preset(DEFAULT_DEVICE)
    func = default_schedule(operator.kernel(), config).mod["main"]
    none, in_order, not_interleaved, every = (
        program_cycles(
            build_program(
                func, config, operator.name, options=PipelineOptions.parse(text)
            ).to_bytes()
        )
        for text in ("O0", "O1", "O2,-interleaving", "O2")
    )
    assert every < 0.9 * min(none, in_order, not_interleaved)


def test_a_program_in_order_has_the_form_of_the_function():
    """The weights' load, and a loop around loads, zeros, steps and a store."""
    config = preset(DEFAULT_DEVICE)
    operator = Matmul(1, 64, 32, 16, bias=False)
    func = default_schedule(operator, config).mod["main"]
    shown = {}
    build_program(func, config, operator.name, options=O0, show=shown.__setitem__)
    weights, loop = shown["placed"]
    assert isinstance(weights, PlacedCopy)
    assert isinstance(loop, PlacedLoop)
    pixels, zeros, _settings, steps, store = loop.body
    loads = (weights, pixels, zeros)
    assert {one.engine for one in loads} == {Engine.LOAD}
    assert store.engine is Engine.STORE
    assert isinstance(steps, PlacedLoop)
    assert all(isinstance(one, PlacedStep) and not one.overwrites for one in steps.body)


def test_pipelines_by_name_are_tvms_too(monkeypatch):
    """And a function's own attribute goes before."""
    config = preset(DEFAULT_DEVICE)
    operator = Matmul(1, 64, 32, 16)
    func = default_schedule(operator, config).mod["main"].with_attr("target", make_target(config))
    func = func.with_attr("global_symbol", "kernel")
    found = []

    def told(*args):
        found.append(args[4])
        return build_program(*args)

    monkeypatch.setattr(wiring, "build_program", told)
    for pipeline in ("npu", "npu-O0", "npu-O1"):
        tvm.compile(IRModule({"kernel": func}), tir_pipeline=pipeline)
    asking = func.with_attr(PIPELINE, "O0,+sums")
    tvm.compile(IRModule({"kernel": asking}), tir_pipeline="npu-O1")
    assert [str(options) for options in found] == ["None", "O0", "O1", "O0,+sums"]
