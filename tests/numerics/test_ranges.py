"""Ranges hold whatever a network is given, and say no more than they must."""

import numpy as np
import pytest
from numerics.networks import Builder
from tvm import relax
from tvm.relax import op

from npu_target.host import build_host, run_host
from npu_target.numerics.layer import Network
from npu_target.numerics.products import product_of, sum_range
from npu_target.numerics.ranges import range_of, zero_point_of


def test_of_tensors():
    seen = {}

    def body(b):
        seen["image"] = b.value
        b.dense("layer", 4)
        seen["named"] = b.requantize("layer", "float32_zp", 0.002, -9, low=-20, high=90)
        seen["moved"] = b.emit(op.reshape(b.value, (1, 4, 4, 1)))
        seen["padded"] = b.pad(-77)
        seen["relu"] = b.emit(op.maximum(b.value, relax.const(np.int8(0))))
        seen["cut"] = b.emit(op.minimum(relax.const(np.int8(60)), b.value))

    mod = Builder((4, 16)).make(body)
    network = Network(mod, None)
    by_name = {var.name: var for var in [*network.graph.params, *network.graph.order]}
    ranges = {
        key: tuple(range_of(mod, network.graph, by_name[var.name])) for key, var in seen.items()
    }
    assert ranges == {
        "image": (-128, 127),
        "named": (-20, 90),
        "moved": (-20, 90),
        "padded": (-77, 90),
        "relu": (0, 90),
        "cut": (0, 60),
    }
    zero_points = {
        key: zero_point_of(mod, network.graph, by_name[var.name], {"image": 3})
        for key, var in seen.items()
    }
    assert zero_points == {"image": 3, "named": -9, "moved": -9} | dict.fromkeys(
        ("padded", "relu", "cut"), -77
    )


@pytest.mark.parametrize("depthwise", [False, True])
def test_sums_reach_their_bounds(depthwise):
    def body(b):
        b.conv("layer", 4, depthwise=depthwise, padding=[1, 1, 1, 1])

    mod = Builder((1, 5, 5, 4)).make(body)
    network = Network(mod, None)
    graph = network.graph
    product = product_of(graph, graph.order[-1])
    found = sum_range(mod, graph, product)
    weight = product.weight.astype(int)
    executable = build_host(mod)
    reached = []
    for channel in range(4):
        column = weight[:, :, 0, channel] if depthwise else weight[:, :, :, channel]
        for sign in (1, -1):
            image = np.zeros((1, 5, 5, 4), "int8")
            best = np.where(sign * column > 0, 127, -128)
            image[0, 1:4, 1:4] = best[..., None] if depthwise else best
            reached.append(run_host(executable, image)[0][0, 2, 2, channel])
    assert (min(reached), max(reached)) == tuple(found)


def test_what_no_product_makes():
    def body(b):
        b.emit(op.astype(b.value, "int32"), "wide")
        b.emit(op.add(b.value, b.value), "twice")

    mod = Builder((4, 4)).make(body)
    graph = Network(mod, None).graph
    wide, twice = graph.order
    assert product_of(graph, wide) == "astype makes its sums, no product"
    assert product_of(graph, twice) == "an addition of two tensors makes its sums, no product"
    assert product_of(graph, graph.params[0]) == "no product makes its sums"
