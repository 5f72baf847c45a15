"""Definitions that are marked with a route: who computes them, and what is refused."""

from __future__ import annotations

from types import MappingProxyType

import pytest
import tvm
import tvm_ffi
from job_device.kind import KIND as JOBS
from tvm.s_tir import Schedule

from npu_target.codegen_tir import CodegenError, build_program
from npu_target.device import kind_of, preset
from npu_target.device.route import Route
from npu_target.device_api.simulators import register_simulator
from npu_target.packing import Packing, TileLoop
from npu_target.passes.packings import packings
from npu_target.schedule_rules import default_schedule, routed_designs, space_generator
from npu_target.topi import Add, Matmul, MaxPool2d, OperatorError, operators
from npu_target.topi.definition import definition, operator_in
from npu_target.topi.routed import route_name, routes_of, served_by, take_route, unserved

CONFIG = preset("gemmini-16x16")
PRODUCT = Matmul(1, 20, 40, 30, relu=True, scale=0.01)
POOL = MaxPool2d(1, 8, 8, 8, 2, 2)


def marked(func, name="loop_ws"):
    schedule = Schedule(func)
    take_route(schedule, name)
    return schedule.mod["main"]


def test_a_mark_says_what_computes_the_operator():
    func = definition(PRODUCT, CONFIG)
    assert route_name(func) is None and served_by(func, CONFIG) is None
    served = served_by(marked(func), CONFIG)
    assert served.operator == PRODUCT
    assert served.route is kind_of(CONFIG).routes(CONFIG)["loop_ws"]


def test_a_program_has_the_commands_of_its_route():
    program = build_program(marked(definition(PRODUCT, CONFIG)), CONFIG, "product")
    route = kind_of(CONFIG).routes(CONFIG)["loop_ws"]
    assert list(program.body) == list(route.nodes(PRODUCT))
    assert [(arg.name, arg.role, arg.shape) for arg in program.args] == [
        (arg.name, arg.role, arg.shape) for arg in PRODUCT.args
    ]


@pytest.mark.parametrize(
    ("func", "name", "text"),
    [
        (PRODUCT.prim_func(CONFIG), "loop_ws", "needs a definition that says its operator"),
        (definition(PRODUCT, CONFIG), "magic", "has no route magic; it has: loop_ws, loop_conv_ws"),
        (definition(POOL, CONFIG), "loop_ws", "does not serve it: LOOP_WS computes products"),
    ],
)
def test_marks_that_mean_nothing(func, name, text):
    with pytest.raises(OperatorError, match=text):
        served_by(marked(func, name), CONFIG)
    with pytest.raises(CodegenError, match=f"^thing: .*{text}"):
        build_program(marked(func, name), CONFIG, "thing")


def test_designs_are_one_for_each_route_that_serves():
    start = Schedule(definition(PRODUCT, CONFIG))
    (design,) = routed_designs(start, PRODUCT, CONFIG)
    assert route_name(design.mod["main"]) == "loop_ws"
    assert route_name(start.mod["main"]) is None
    assert routes_of(POOL, CONFIG) == [] and unserved(POOL, CONFIG) is None


class PackedRoute(Route):
    """Takes weights in blocks; it has no commands."""

    name = "packed"

    def refusal(self, operator):
        return None

    def nodes(self, operator):
        return ()

    def packings(self, operator):
        loops = (TileLoop(1, 1, 16), TileLoop(2, 1, 16))
        return {"b": Packing((1, operator.k, operator.n), loops, 1)}


def test_layouts_of_weights_are_those_of_the_route(monkeypatch):
    packed = MappingProxyType({"packed": PackedRoute(CONFIG)})
    monkeypatch.setitem(kind_of(CONFIG)._routes, CONFIG, packed)
    func = marked(definition(PRODUCT, CONFIG), "packed")
    (layout,) = packings(func, CONFIG).values()
    program = build_program(func, CONFIG, "product")
    assert program.args[1].shape == layout.packed_shape == (3 * 2 * 16 * 16,)


@pytest.fixture
def jobs(monkeypatch):
    """A device that runs no schedules."""
    installed = MappingProxyType({kind.name: kind for kind in (JOBS, kind_of(CONFIG))})
    monkeypatch.setattr("npu_target.device.registry.kinds", lambda: installed)
    register_simulator("job", JOBS.simulate)
    yield JOBS.presets[0]
    tvm_ffi.registry.remove_global_func("npu.simulator.job")


def test_a_default_without_schedules_is_the_fastest_route(jobs):
    names = [
        route_name(default_schedule(operator, jobs).mod["main"])
        for operator in (Matmul(1, 2, 64, 48), Matmul(1, 2, 64, 48, varying=True))
    ]
    assert names == ["job_in_blocks", "job"]


@pytest.mark.parametrize("op", ["add", "conv2d", "depthwise_conv2d", "global_avg_pool", "matmul"])
def test_definitions_say_what_is_computed_where_no_step_multiplies(jobs, op):
    for operator in operators()[op].examples(jobs):
        kernel = operator.kernel()
        func = definition(kernel, jobs)
        assert operator_in(func) == kernel
        assert set(func.attrs["npu.tensorize"].values()) == {""}


def test_what_no_route_serves_has_its_reason(jobs):
    addition = Add(16, 16, jobs.dim)
    assert unserved(addition, jobs) == "; ".join(["its jobs are products, add_16x16 is none"] * 2)
    with pytest.raises(CodegenError, match="add_16x16: its jobs are products"):
        default_schedule(addition, jobs)
    with pytest.raises(CodegenError, match="product: job-8 runs no schedules"):
        build_program(definition(PRODUCT, jobs), jobs, "product")


@pytest.mark.parametrize("space", ["template", "rules", "both"])
def test_tvms_own_searches_have_routes_in_their_space(jobs, space):
    for config, n_others in ((jobs, 0), (CONFIG, None)):
        func = definition(PRODUCT, config).with_attr("global_symbol", "main")
        made = space_generator(PRODUCT, config, space, routes=True).generate_design_space(
            tvm.IRModule({"main": func})
        )
        names = [route_name(design.mod["main"]) for design in made]
        assert [name for name in names if name] == routes_of(PRODUCT, config)
        if n_others is not None:
            assert names.count(None) == n_others
