"""Transposed convolutions of quantized weights: products of integers, on all phases at once."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from relax_functions import constant, function_of
from tvm import relax

from npu_target.frontend.qdq import to_integer
from npu_target.host import build_host, run_host
from npu_target.relax_graph import Graph, dtype_of, op_name

op = relax.op
# Of quotients of such numbers none lies halfway between integers.
ODD = np.float32(1.01370137)
X_SCALE, W_SCALE, Y_SCALE = ODD * np.float32(0.02), ODD * np.float32(0.011), np.float32(0.0937)


def drawn_network(data):
    """(A network in float between quantize and dequantize, its input.)"""
    draw = data.draw
    rank = draw(st.sampled_from([2, 2, 1]), "axes")
    groups = draw(st.sampled_from([1, 1, 2]), "groups")
    inputs, outputs = (groups * draw(st.integers(1, 3)) for _ in range(2))
    kernel = [draw(st.integers(1, 4), "kernel") for _ in range(rank)]
    strides = [draw(st.integers(1, 3), "stride") for _ in range(rank)]
    padding = [draw(st.integers(0, side - 1), "pad") for side in kernel * 2]
    more = [draw(st.integers(0, stride - 1), "output padding") for stride in strides]
    dtype, shift = draw(st.sampled_from([("int8", 0), ("uint8", 128)]), "type")
    point = draw(st.sampled_from([0, -7, 25]), "zero point") + shift
    bias_kind = draw(st.sampled_from(["int32", "float32", None]), "bias")
    per_channel = draw(st.booleans(), "per channel")
    # An unsigned weight has one zero point.
    weight_dtype = "int8" if per_channel else draw(st.sampled_from(["int8", "uint8"]), "weight")
    random = np.random.default_rng(draw(st.integers(0, 99), "seed"))
    limits = np.iinfo(weight_dtype)
    shape = (inputs, outputs // groups, *kernel)
    weight = random.integers(limits.min, limits.max + 1, shape).astype(weight_dtype)
    scale = np.float32(W_SCALE)
    if per_channel:
        scale = (W_SCALE * random.uniform(0.5, 1, shape[1])).astype("float32")
    weight_point = np.full(scale.shape, 0 if weight_dtype == "int8" else 131, weight_dtype)

    def body(emit, x):
        numbers = constant(X_SCALE), constant(np.array(point, dtype))
        x = emit(op.dequantize(emit(op.quantize(x, *numbers, 1, dtype)), *numbers, 1))
        w = emit(op.dequantize(constant(weight), constant(scale), constant(weight_point), 1))
        up, axes = (op.nn.conv1d_transpose, "W") if rank == 1 else (op.nn.conv2d_transpose, "HW")
        y = up(
            x, w, strides=strides, padding=padding, output_padding=more, groups=groups,
            data_layout=f"NC{axes}", kernel_layout=f"IO{axes}",
        )  # fmt: skip
        y = emit(y, "up")
        steps = np.broadcast_to(X_SCALE * np.tile(scale, groups if per_channel else 1), outputs)
        if bias_kind == "int32":
            integers = constant(random.integers(-5000, 5000, outputs).astype("int32"))
            numbers = constant(np.ascontiguousarray(steps)), constant(np.zeros(outputs, "int32"))
            bias = emit(op.dequantize(integers, *numbers, 0))
            y = emit(op.add(y, emit(op.reshape(bias, (1, outputs, *[1] * rank)))))
        elif bias_kind == "float32":
            bias = (random.integers(-5000, 5000, outputs) * steps).astype("float32")
            y = emit(op.add(y, constant(bias.reshape(1, outputs, *[1] * rank))))
        y = emit(op.nn.relu(y)) if draw(st.booleans(), "ReLU") else y
        numbers = constant(Y_SCALE), constant(np.array(shift - 3, dtype))
        return emit(op.quantize(y, *numbers, 1, dtype))

    shape = (draw(st.integers(1, 2)), inputs, *(draw(st.integers(4, 6)) for _ in range(rank)))
    x = random.normal(0, 1, shape).astype("float32")
    return function_of([shape], body), x


@settings(deadline=None, max_examples=16, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_the_integers_are_those_of_the_floats(data):
    mod, x = drawn_network(data)
    made = to_integer(mod)
    (wanted,), (found,) = (run_host(build_host(each), x) for each in (mod, made.mod))
    apart = np.abs(wanted.astype(int) - found)
    # Sums in float32 are rounded themselves.
    assert apart.max() <= 1 and apart.mean() <= 0.005
    graph = Graph(made.mod)
    kinds = {op_name(graph.value[var]): dtype_of(var) for var in graph.order}
    assert kinds["relax.nn.conv2d"] == "int32"
    assert not any("transpose" in (kind or "") for kind in kinds)
    assert "up" in made.quantizations
