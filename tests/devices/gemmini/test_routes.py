"""Operators by the hardware's loops, as the compiler, the logs and the C export have them.

That each of their forms computes what it should, tests/benchmarks/test_vendor_library.py shows.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from native_kernels import COMPILER, issued
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from npu_target.codegen_tir import CodegenError, build_program
from npu_target.device import kind_of, preset
from npu_target.devices.gemmini.routes.conv_tile import ConvCall, TileSearch
from npu_target.devices.gemmini.routes.matmul import matmul_tile
from npu_target.schedule_rules import routed_designs
from npu_target.target import make_target
from npu_target.topi import Add, Conv2d, DepthwiseConv2d, Matmul
from npu_target.topi.definition import definition
from npu_target.topi.routed import route_name, routes_of
from npu_target.tuning.check import ProgramCheck
from npu_target.tuning.errors import TuningError
from npu_target.tuning.schedules import routed_schedule
from npu_target.tuning.workload import workload_module

CONFIG = preset("gemmini-16x16")
BORDER = (1, 1, 1, 1)
SERVED = [
    (Matmul(1, 50, 70, 33, relu=True, scale=0.01), "loop_ws"),
    (Matmul(3, 20, 48, 17, bias=False), "loop_ws"),
    (Conv2d(1, 9, 9, 40, 24, 1, 1, scale=0.02), "loop_ws"),
    (Conv2d(1, 14, 14, 24, 40, 3, 3, pad=BORDER, relu=True, scale=0.003), "loop_conv_ws"),
    (Conv2d(2, 10, 10, 32, 16, 1, 1, (2, 2), bias=False), "loop_conv_ws"),
]


def program_of(operator, route, config=CONFIG):
    func = routed_schedule(operator, config, route).mod["main"]
    return build_program(func, config, operator.name)


def test_tile_of_a_product_fills_the_memories():
    assert matmul_tile(256, 256, 256, CONFIG) == (5, 6, 16)
    assert matmul_tile(1, 1000, 512, CONFIG) == (1, 15, 32)


def test_search_for_a_tile_ends_with_one_that_cannot_grow():
    call = ConvCall(1, (28, 28), 128, 128, 3, 1, 1, None, 2, 1.0, False)
    search = TileSearch(call, CONFIG)
    assert search.tile == (1, 22, 23, 16, 3, 3, 128)
    assert search.checks == 478


@pytest.mark.parametrize("preset_name", ["gemmini-8x8", "gemmini-16x16", "gemmini-32x32"])
@pytest.mark.parametrize(("operator", "route"), SERVED)
def test_a_route_computes_what_numpy_does(operator, route, preset_name):
    config, kernel = preset(preset_name), operator.kernel()
    assert routes_of(kernel, config) == [route]
    program = program_of(kernel, route, config)
    assert ProgramCheck(config).cycles(program, kernel, route) > 0


@pytest.mark.parametrize(("operator", "route"), SERVED)
@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_as_c_it_issues_the_same_stream(operator, route, tmp_path):
    program = program_of(operator.kernel(), route)
    addresses = {arg.name: (i + 1) << 20 for i, arg in enumerate(program.args)}
    assert issued(program, addresses, tmp_path) == list(program.expand(addresses))


@pytest.mark.parametrize(
    ("operator", "reasons"),
    [
        (Add(16, 16, 16), ("computes products", "computes convolutions")),
        (DepthwiseConv2d(1, 8, 8, 16, 3, 3, 16), ("computes products", "diagonals of blocks")),
        (Conv2d(1, 8, 8, 4, 4, 3, 1), ("computes products", "needs one kernel size")),
        (Matmul(1, 4, 4, 4), (None, "computes convolutions")),
        (Conv2d(1, 8, 8, 4, 4, 1, 1), (None, "is a product")),
    ],
)
def test_what_a_route_does_not_serve_has_its_reason(operator, reasons):
    routes = kind_of(CONFIG).routes(CONFIG).values()
    for route, reason in zip(routes, reasons, strict=True):
        refusal = route.refusal(operator)
        assert (refusal is None) == (reason is None)
        assert reason is None or reason in refusal


def test_a_device_without_loops_has_none():
    config = CONFIG.replace(name="plain", has_loop_commands=False)
    for operator, _ in SERVED:
        assert routes_of(operator, config) == []
        refusals = [r.refusal(operator) for r in kind_of(config).routes(config).values()]
        assert refusals == ["plain is built without loop commands"] * 2


def test_a_size_that_no_field_holds_is_refused_with_a_type():
    operator = Conv2d(1, 2, 2, 70_000, 16, 1, 1, (2, 2))
    with pytest.raises(CodegenError, match=rf"^{operator.name}: .*in_channels is 70000"):
        program_of(operator, "loop_conv_ws")


def test_what_relies_on_luck_is_a_race():
    """Loads of several pixels a row write rows that the reservation station does not see."""
    operator = Conv2d(1, 30, 30, 3, 40, 7, 7, (2, 2), (3,) * 4).kernel()
    program = program_of(operator, "loop_conv_ws")
    with pytest.raises(TuningError, match="race"):
        ProgramCheck(CONFIG).cycles(program, operator, "loop_conv_ws")


def test_a_record_is_read_by_tvm_and_serves_other_scales(tmp_path):
    operator = Matmul(1, 50, 70, 33, relu=True, scale=0.25)
    mod = workload_module(operator, CONFIG)
    (design,) = routed_designs(Schedule(mod), operator, CONFIG)
    database = ms.database.JSONDatabase(work_dir=str(tmp_path))
    workload = database.commit_workload(mod)
    arguments = ms.arg_info.ArgInfo.from_entry_func(mod, remove_preproc=True)
    database.commit_tuning_record(
        ms.database.TuningRecord(design.trace, workload, [1.0], make_target(CONFIG), arguments)
    )
    read = ms.database.JSONDatabase(work_dir=str(tmp_path))
    (record,) = read.get_top_k(read.commit_workload(mod), 1)
    schedule = Schedule(definition(operator, CONFIG))
    record.trace.apply_to_schedule(schedule, remove_postproc=False)
    func = schedule.mod["main"]
    assert route_name(func) == "loop_ws"
    program = build_program(func, CONFIG, operator.name)
    assert ProgramCheck(CONFIG).cycles(program, operator, "tuned") > 0
    other = replace(operator, scale=0.125)
    with pytest.raises(TuningError, match="wrong_result"):  # it does depend on the scale
        ProgramCheck(CONFIG).cycles(program, other, "tuned")
