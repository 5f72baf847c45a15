"""Constants in a kernel's layout: permuted once, when a network is built."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.ir import IRModule
from tvm.s_tir import Schedule

from npu_target.build import compile_network
from npu_target.device import preset
from npu_target.devices.gemmini.numbers import NUMBERS
from npu_target.devices.vta.numbers import NUMBERS as SHIFTS
from npu_target.host import run_host
from npu_target.pack_constants import laid_out, pack_constants, scheduled
from npu_target.passes.errors import CodegenError
from npu_target.passes.packings import packings
from npu_target.relax_graph import Graph, constant_of, op_name
from npu_target.target import make_target
from npu_target.topi import Matmul
from npu_target.topi.mac_schedule import schedule_mac
from npu_target.topi.mac_structure import MacStructure
from npu_target.tuning.expected import expected_output, sample_inputs

CONFIG = preset("gemmini-16x16")
# Channels that are no multiple of a block's, and tiles of three blocks.
OPERATOR = Matmul(1, 20, 48, 90)
INPUTS = sample_inputs(OPERATOR, 3)


def kernel(packed: bool):
    schedule = Schedule(OPERATOR.prim_func(CONFIG))
    schedule_mac(schedule, MacStructure(packed=packed), {"blocks": [6, 1], "steps": [1, 2]})
    return schedule.mod["main"].with_attr(
        {"target": make_target(CONFIG), "tirx.is_scheduled": True, "op_pattern": 8}
    )


def network(func, is_constant: bool = True) -> IRModule:
    """Two calls of a kernel, with its weights and with their negatives."""
    builder = relax.BlockBuilder()
    params = [relax.Var("x", relax.TensorType((1, 20, 48), "int8"))]
    weights = relax.const(INPUTS["b"]), relax.const(-INPUTS["b"])
    if not is_constant:
        params.append(relax.Var("w", relax.TensorType((1, 48, 90), "int8")))
        weights = params[1], params[1]
    bias = relax.const(INPUTS["bias"])
    with builder.function("main", params):
        with builder.dataflow():
            target = builder.add_func(func.with_attr("global_symbol", "product"), "product")
            results = []
            for weight in weights:
                out = relax.TensorType((1, 20, 90), "int8")
                call = relax.call_tir(target, [params[0], weight, bias], out)
                results.append(builder.emit(call))
            output = builder.emit_output(relax.Tuple(results))
        builder.emit_func_output(output)
    return builder.get()


@pytest.mark.parametrize("packed", [False, True])
def test_a_network_computes_what_numpy_does(packed):
    results = run_host(compile_network(network(kernel(packed))), INPUTS["a"])
    negative = {**INPUTS, "b": -INPUTS["b"]}
    for result, inputs in zip(results, (INPUTS, negative), strict=True):
        np.testing.assert_array_equal(result, expected_output(OPERATOR, inputs, NUMBERS))


def test_constants_are_permuted_once():
    func = kernel(packed=True)
    (packing,) = packings(func, CONFIG).values()
    mod = pack_constants(network(func))
    relax.analysis.well_formed(mod)  # raises where a call and a kernel disagree
    calls = [v for v in Graph(mod).value.values() if op_name(v) == "relax.call_tir"]
    for call, weights in zip(calls, (INPUTS["b"], -INPUTS["b"]), strict=True):
        np.testing.assert_array_equal(constant_of(call.args[1].fields[1]), packing.pack(weights))
    assert [var.name_hint for var in mod.get_global_vars()].count("product") == 1


def test_a_module_without_packed_weights_stays():
    mod = network(kernel(packed=False))
    assert pack_constants(mod).same_as(mod)


def test_a_laid_out_function_carries_its_schedule():
    func = kernel(packed=True)
    packed = laid_out(func, packings(func, CONFIG))
    assert [tuple(int(n) for n in param.shape) for param in packed.params] == [
        (1, 20, 48),
        (6 * 3 * 256,),
        (90,),
        (1, 20, 90),
    ]
    assert scheduled(packed).same_as(func) and scheduled(func).same_as(func)


def test_what_varies_cannot_be_packed():
    with pytest.raises(CodegenError, match="product: argument b is no constant"):
        pack_constants(network(kernel(packed=True), is_constant=False))


def test_what_a_device_takes_in_no_other_way_the_host_packs():
    """Weights that are an input, for a device whose step takes blocks of them transposed."""
    device, operator = preset("vta-1x16x16"), Matmul(1, 20, 48, 96, varying=True)
    schedule = Schedule(operator.prim_func(device))
    schedule_mac(schedule, MacStructure(), {"blocks": [3, 2], "steps": [1, 2]})
    func = schedule.mod["main"].with_attr(
        {"target": make_target(device), "tirx.is_scheduled": True, "op_pattern": 8}
    )
    inputs = sample_inputs(operator, 3)
    builder = relax.BlockBuilder()
    shapes = {"a": (1, 20, 48), "b": (1, 48, 96)}
    params = [relax.Var(name, relax.TensorType(shape, "int8")) for name, shape in shapes.items()]
    with builder.function("main", params):
        with builder.dataflow():
            target = builder.add_func(func.with_attr("global_symbol", "product"), "product")
            arguments = [*params, relax.const(inputs["bias"])]
            call = relax.call_tir(target, arguments, relax.TensorType((1, 20, 96), "int8"))
            output = builder.emit_output(builder.emit(call))
        builder.emit_func_output(output)
    compiled = compile_network(builder.get())
    (result,) = run_host(compiled, inputs["a"], inputs["b"])
    np.testing.assert_array_equal(result, expected_output(operator, inputs, SHIFTS))
